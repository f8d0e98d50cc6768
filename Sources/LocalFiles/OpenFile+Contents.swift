internal import Glibc

extension OpenFile {
    /// All of the regular file at `path`. A pipe or a device is refused, and not waited for.
    ///
    /// - Parameters:
    ///   - limit: in bytes; a larger file is refused.
    ///   - isOwn: refuses a file that somebody else than this user and root can have put there, or can change.
    package static func contents(of path: String, limit: Int, isOwn: Bool = false) throws(FileError) -> [UInt8] {
        let contents: Result<[UInt8], FileError>
        do throws(SystemCallError) {
            let file = try OpenFile(opening: path, O_RDONLY | O_NONBLOCK)
            if isOwn, let fault = Self.foreignness(of: try file.ownership(), at: path) {
                contents = .failure(fault)
            } else {
                contents = try Self.contents(of: file, limit: limit)
            }
        } catch {
            throw FileError(error)
        }
        return try contents.get()
    }

    private static func contents(
        of file: borrowing OpenFile,
        limit: Int
    ) throws(SystemCallError) -> Result<[UInt8], FileError> {
        guard try file.ownership().isRegular else { return .failure(FileError(.unreadable, "is not a regular file")) }
        let bytes = try file.read(limit: limit + 1)
        guard bytes.count <= limit else {
            return .failure(FileError(.tooLarge, "is larger than \(limit >> 20)MiB"))
        }
        return .success(bytes)
    }

    private static func foreignness(of file: FileOwnership, at path: String) -> FileError? {
        let user = geteuid()
        var link = stat()
        guard unsafe lstat(path, &link) == 0 else { return FileError(SystemCallError(errno, "can't look at \(path)")) }
        let unnamed = "and nobody has named it: --config names it if it is meant"
        let found = file.description(for: user)
        if file.isForeign(to: user) { return FileError(.exposed, "belongs to another user (\(found)), \(unnamed)") }
        if link.st_uid != user, link.st_uid != 0 {
            let owner = "owner \(link.st_uid), and this process is user \(user)"
            return FileError(.exposed, "is a symbolic link that belongs to another user (\(owner)), \(unnamed)")
        }
        guard file.isWritableForOthers else { return nil }
        return FileError(
            .exposed,
            "others can write it (\(found)), \(unnamed), chmod go-w keeps others from it"
        )
    }
}
