internal import Glibc
internal import LocalFiles

/// The directory of a Unix socket, held against others that bind sockets of their own there.
struct SocketDirectory: ~Copyable {
    private let file: OpenFile
    private let path: String
    private let socket: String

    /// Opens the directory of the socket at `path` and waits for others that hold it, which takes them no time, but not for
    /// ever.
    init(of path: String) throws(SocketFileError) {
        let directory = WholeFile.directory(of: path)
        let file: OpenFile
        do throws(SystemCallError) {
            file = try OpenFile(opening: directory, O_RDONLY | O_DIRECTORY)
        } catch {
            throw SocketFileError(path: path, reason: "its directory can't be opened (\(error)); make it")
        }
        guard Self.lock(file) else {
            throw SocketFileError(
                path: path,
                reason: "another process holds its directory, perhaps to listen there; try again"
            )
        }
        self.file = file
        self.path = directory
        self.socket = path
    }

    private static func lock(_ file: borrowing OpenFile) -> Bool {
        for _ in 0..<100 {
            if (try? file.lock()) == true { return true }
            usleep(20_000)
        }
        return false
    }

    /// Refuses a directory in which others can put another socket in the place of ours, and so collect the keys of those
    /// who connect: it belongs to this user or to root, and nobody else writes to it, or it is sticky, which keeps what is
    /// ours from others (unlink(2), rename(2)).
    func checkOwnership() throws(SocketFileError) {
        guard let ownership = try? self.file.ownership(), ownership.isKeptByOwner(from: geteuid()) else {
            let found = (try? self.file.ownership()).map { " (\($0.description(for: geteuid())))" } ?? ""
            throw SocketFileError(
                path: self.socket,
                reason: """
                    others can put a socket of theirs in its place: \(self.path) must belong to this user or root, and \
                    nobody else may write to it unless it is sticky\(found); run chmod go-w on it, or name another
                    """
            )
        }
    }

    /// Lets others bind sockets there; also at its end.
    consuming func release() {}
}
