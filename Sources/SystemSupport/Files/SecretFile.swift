internal import Glibc
package import TokenModel

/// Files that hold secrets: client secrets, sealing keys, admin tokens.
package enum SecretFile {
    /// The maximum size of a file of secrets, in bytes.
    package static let sizeLimit = 64 << 10

    /// Reads the secret in the file at `path`, without the newlines at its end.
    ///
    /// Refuses:
    /// - a file that this user could write, if its group or others can read or write it
    /// - another user's file that anybody but that user can write
    /// - an empty file, and one larger than ``sizeLimit``
    /// - anything but a regular file, such as a dangling symbolic link
    package static func read(_ path: String) throws(FileError) -> Secret {
        var bytes = try Self.contents(of: path)
        while bytes.last == 0x0A || bytes.last == 0x0D { bytes.removeLast() }
        guard !bytes.isEmpty else { throw FileError(.empty, "is empty") }
        return Secret(bytes)
    }

    /// Reads the whole file, under the same rules as ``read(_:)``, except that the file may be empty.
    ///
    /// - Parameter mayBelongToOthers: `false` for a file that Martlet creates itself; then another user's file is
    ///   always refused.
    package static func contents(of path: String, mayBelongToOthers: Bool = true) throws(FileError) -> [UInt8] {
        let contents: Result<[UInt8], FileError>
        do throws(SystemCallError) {
            // Opening a pipe that has no writer must not block the start.
            let file = try OpenFile(opening: path, O_RDONLY | O_NONBLOCK)
            contents = try Self.contents(of: file, at: path, mayBelongToOthers: mayBelongToOthers)
        } catch {
            // A caller creates a missing file, but it could not create one at a dangling link.
            guard !error.isMissing || !Self.isLink(path) else {
                throw FileError(.unreadable, "is a symbolic link that leads nowhere")
            }
            throw Self.unreadable(path, error, mayBelongToOthers: mayBelongToOthers)
        }
        return try contents.get()
    }

    /// Whether `path` lies outside of `directory`, as a mounted file does. It is for files that Martlet creates if
    /// they are missing. The path itself, its target and the target of its directory are compared, with links
    /// resolved.
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

    /// The path with all links resolved; `nil` if it leads nowhere.
    private static func resolved(_ path: String) -> String? {
        guard let found = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(found) }
        return unsafe String(cString: found)
    }

    /// Whether `path` is a symbolic link, even a dangling one.
    private static func isLink(_ path: String) -> Bool {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFLNK
    }

    /// Refuses a file that this user could write and that its group or others can read or write.
    ///
    /// It is for a client that presents a secret and does not keep it, so the file may belong to another user. The
    /// file is not opened. Anything but a regular file is accepted: nobody else can read a pipe.
    package static func checkMode(of path: String) throws(FileError) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return }
        let ownership = FileOwnership(status)
        guard ownership.isRegular,
            ownership.isLeftOpen(by: geteuid(), access: FileOwnership.writeAccess(to: path))
        else { return }
        throw Self.leftOpen(ownership.description(for: geteuid()))
    }

    /// A warning for the operator about an accepted file: it belongs to another user, who can change it. `nil` if
    /// there is nothing to report, or no file.
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

    /// The error for a file that the system does not let this user open or read.
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
    /// The error for a caller whose file the system refused to open or read.
    package init(_ error: SystemCallError) {
        self.init(
            error.isMissing ? .missing : .unreadable,
            "can't be read: \(SystemCallError.text(of: error.number))"
        )
    }
}
