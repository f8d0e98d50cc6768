internal import Glibc
package import TokenModel

/// Files that hold secrets: client secrets, sealing keys, admin tokens.
package enum SecretFile {
    /// No file of secrets is larger, in bytes.
    package static let sizeLimit = 64 << 10

    /// Reads the secret in the file at `path`, without the newline at its end.
    ///
    /// Refuses a file that this user could write and its group or others can read or write, one of another user's that
    /// more than that user can write, an empty one, one over ``sizeLimit``, and what is not a file, such as a symbolic link
    /// to nothing.
    package static func read(_ path: String) throws(FileError) -> Secret {
        var bytes = try Self.contents(of: path)
        while bytes.last == 0x0A || bytes.last == 0x0D { bytes.removeLast() }
        guard !bytes.isEmpty else { throw FileError(.empty, "is empty") }
        return Secret(bytes)
    }

    /// Reads all of a file that is kept as ``read(_:)`` asks, and that may be empty.
    ///
    /// - Parameter mayBelongToOthers: `false` for what Martlet makes by itself: another user's is refused in any case.
    package static func contents(of path: String, mayBelongToOthers: Bool = true) throws(FileError) -> [UInt8] {
        let contents: Result<[UInt8], FileError>
        do throws(SystemCallError) {
            // A pipe without a writer must not hold up the start.
            let file = try OpenFile(opening: path, O_RDONLY | O_NONBLOCK)
            contents = try Self.contents(of: file, at: path, mayBelongToOthers: mayBelongToOthers)
        } catch {
            // Who makes the file where it is missing could not make it there.
            guard !error.isMissing || !Self.isLink(path) else {
                throw FileError(.unreadable, "is a symbolic link that leads nowhere")
            }
            throw Self.unreadable(path, error, mayBelongToOthers: mayBelongToOthers)
        }
        return try contents.get()
    }

    /// Whether a file that Martlet makes where it is missing is kept somewhere else than under `directory`, as one is
    /// that is mounted: neither its path leads there, nor a link on the way.
    package static func isOutside(_ path: String, of directory: String) -> Bool {
        guard !Self.isPath(path, under: directory) else { return false }
        guard let room = Self.resolved(directory) else { return true }
        let places = [path, WholeFile.directory(of: path)].compactMap { Self.resolved($0) }
        return !places.contains { $0 == room || Self.isPath($0, under: room) }
    }

    private static func isPath(_ path: String, under directory: String) -> Bool {
        let start = directory.hasSuffix("/") ? directory : directory + "/"
        return path.utf8.starts(with: start.utf8)
    }

    /// Where a path leads, without links; `nil` where nothing is there.
    private static func resolved(_ path: String) -> String? {
        guard let found = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(found) }
        return unsafe String(cString: found)
    }

    /// Whether a symbolic link stands at `path`, wherever that leads.
    private static func isLink(_ path: String) -> Bool {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFLNK
    }

    /// Refuses a file that this user could write and its group or others can read or write. For who shows a secret and does
    /// not keep it: it may be another user's. Nothing is opened, and what is no file is not refused: a pipe is nobody else's.
    package static func checkMode(of path: String) throws(FileError) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return }
        let ownership = FileOwnership(status)
        guard ownership.isRegular,
            ownership.isLeftOpen(by: geteuid(), access: FileOwnership.writeAccess(to: path))
        else { return }
        throw Self.leftOpen(ownership.description(for: geteuid()))
    }

    /// What an operator should know of a file that is taken: that it is another user's, who can change it. `nil` where
    /// nothing is to be said, also of a file that is not there.
    package static func concern(about path: String) -> String? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        let (ownership, user) = (FileOwnership(status), geteuid())
        guard ownership.isRegular, ownership.isForeign(to: user) else { return nil }
        return """
            belongs to another user, who can change it (\(ownership.description(for: user))), as a file does that is \
            mounted into a container: sure that this is meant?
            """
    }

    private static func leftOpen(_ found: String) -> FileError {
        FileError(.exposed, "can be read or written by others (\(found)); run chmod 600 on it")
    }

    private static func exposed(_ ownership: FileOwnership, mayBelongToOthers: Bool) -> FileError {
        let user = geteuid()
        let found = ownership.description(for: user)
        guard ownership.isForeign(to: user) else { return Self.leftOpen(found) }
        let asOwner = "run Martlet as user \(ownership.owner) (in a container: --user \(ownership.owner))"
        guard mayBelongToOthers else {
            return FileError(
                .exposed,
                """
                belongs to another user, and Martlet makes it by itself (\(found)); give it to this user, or \
                \(asOwner); one that is mounted must be outside of state_dir
                """
            )
        }
        guard ownership.isWritableForOthers else {
            return FileError(
                .exposed,
                """
                belongs to user \(ownership.owner), and this process can write it too (\(found)); \
                \(asOwner), or give the file to this user
                """
            )
        }
        return FileError(
            .exposed,
            """
            belongs to another user, and more than that one can write it (\(found)); run chmod go-w on it and \
            \(Self.inContainer(ownership))
            """
        )
    }

    /// Why the system does not let this user open or read it.
    private static func unreadable(
        _ path: String,
        _ error: SystemCallError,
        mayBelongToOthers: Bool
    ) -> FileError {
        var status = stat()
        guard error.number == EACCES, unsafe stat(path, &status) == 0 else { return FileError(error) }
        let ownership = FileOwnership(status)
        let asOwner = "in a container run as its owner (--user \(ownership.owner))"
        return FileError(
            .unreadable,
            """
            can't be read: \(SystemCallError.text(of: error.number)) (\(ownership.description(for: geteuid()))); give it to \
            this user, or \(mayBelongToOthers ? Self.inContainer(ownership) : asOwner)
            """
        )
    }

    private static func inContainer(_ ownership: FileOwnership) -> String {
        "in a container run as its owner (--user \(ownership.owner)), or mount it read-only with mode 0644"
    }

    private static func contents(
        of file: borrowing OpenFile,
        at path: String,
        mayBelongToOthers: Bool
    ) throws(SystemCallError) -> Result<[UInt8], FileError> {
        let ownership = try file.ownership()
        guard ownership.isRegular else { return .failure(FileError(.unreadable, "is not a regular file")) }
        let access = FileOwnership.writeAccess(to: path)
        guard !ownership.isExposed(to: geteuid(), access: access, mayBelongToOthers: mayBelongToOthers) else {
            return .failure(Self.exposed(ownership, mayBelongToOthers: mayBelongToOthers))
        }
        let bytes = try file.read(limit: Self.sizeLimit + 1)
        guard bytes.count <= Self.sizeLimit else {
            return .failure(FileError(.tooLarge, "is larger than \(Self.sizeLimit >> 10)KiB"))
        }
        return .success(bytes)
    }
}

extension FileError {
    /// What the system's refusal to open or read a file means to who wanted its contents.
    package init(_ error: SystemCallError) {
        self.init(
            error.isMissing ? .missing : .unreadable,
            "can't be read: \(SystemCallError.text(of: error.number))"
        )
    }
}
