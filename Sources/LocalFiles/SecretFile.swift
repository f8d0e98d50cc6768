internal import Glibc
package import TokenModel

/// Files that hold secrets: client secrets, sealing keys, admin tokens.
package enum SecretFile {
    /// No file of secrets is larger, in bytes.
    package static let sizeLimit = 64 << 10

    /// Reads the secret in the file at `path`, without the newline at its end.
    ///
    /// Refuses a file that this user could write and its group or others can read or write, an empty one, one over
    /// ``sizeLimit``, and what is not a file, such as a symbolic link to nothing.
    package static func read(_ path: String) throws(FileError) -> Secret {
        var bytes = try Self.contents(of: path)
        while bytes.last == 0x0A || bytes.last == 0x0D { bytes.removeLast() }
        guard !bytes.isEmpty else { throw FileError(.empty, "is empty") }
        return Secret(bytes)
    }

    /// Reads all of a file that is kept as ``read(_:)`` asks, and that may be empty.
    package static func contents(of path: String) throws(FileError) -> [UInt8] {
        let contents: Result<[UInt8], FileError>
        do throws(SystemCallError) {
            // A pipe without a writer must not hold up the start.
            let file = try OpenFile(opening: path, O_RDONLY | O_NONBLOCK)
            contents = try Self.contents(of: file, at: path)
        } catch {
            // Who makes the file where it is missing could not make it there.
            guard !error.isMissing || !Self.isLink(path) else {
                throw FileError(.unreadable, "is a symbolic link that leads nowhere")
            }
            throw FileError(error)
        }
        return try contents.get()
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
        throw Self.exposed(ownership)
    }

    private static func exposed(_ ownership: FileOwnership) -> FileError {
        let mode = "0" + String(ownership.mode, radix: 8)
        return FileError(.exposed, "can be read or written by others (mode \(mode)); run chmod 600 on it")
    }

    private static func contents(
        of file: borrowing OpenFile,
        at path: String
    ) throws(SystemCallError) -> Result<[UInt8], FileError> {
        let ownership = try file.ownership()
        guard ownership.isRegular else { return .failure(FileError(.unreadable, "is not a regular file")) }
        guard !ownership.isExposed(to: geteuid(), access: FileOwnership.writeAccess(to: path)) else {
            return .failure(Self.exposed(ownership))
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
