internal import Glibc
internal import NIOCore

/// A Unix socket of this process, beside a link that names the socket of the latest process. Of several processes that
/// share a directory each can be reached, and a client that follows the link reaches the one that was started last.
///
/// The link stays when a process ends. So a client that finds the link and nobody behind it knows that the gateway is
/// down, and does not ask a process that may have taken its port meanwhile.
package struct LinkedSocket: Sendable {
    private let link: String
    private let file: UnixSocketFile
    /// Path of the socket itself.
    package let path: String

    /// Listens on a socket beside `link`, for this user only, and removes the sockets of processes that have died. The
    /// link does not lead there before ``announce()``.
    ///
    /// - Returns: the socket's file, and the listening socket, which the calling code must close.
    package static func bind(
        beside link: String
    ) throws(SocketFileError) -> (socket: LinkedSocket, descriptor: CInt) {
        // A socket that is bound and does not listen yet looks dead. So a process that binds one holds the directory
        // until it listens.
        let directory = try SocketDirectory(of: link)
        for path in Self.siblings(of: link) where Self.connect(path) == ECONNREFUSED { _ = unsafe unlink(path) }
        directory.release()
        let path = "\(link).\(Self.randomName())"
        let (file, descriptor) = try UnixSocketFile.bind(path, mode: 0o600)
        return (LinkedSocket(link: link, file: file, path: path), descriptor)
    }

    /// Makes the link name this socket. The link is replaced in one step: a client that follows it reaches the former
    /// socket or this one.
    package func announce() throws(SocketFileError) {
        let directory = try SocketDirectory(of: self.link)
        try Self.point(self.link, to: self.path)
        directory.release()
    }

    /// Removes the socket. If the link named it, the link then names the youngest of the others that still listen, if
    /// there is one.
    package func remove() {
        self.file.remove()
        // Another process must not change the link in between.
        guard let directory = try? SocketDirectory(of: self.link) else { return }
        if Self.target(of: self.link) == self.path, let other = Self.siblings(of: self.link).first(where: Self.isLive) {
            try? Self.point(self.link, to: other)
        }
        directory.release()
    }

    /// Removes a link that leads to no live socket, left behind by a process whose successor has no socket.
    package static func removeDeadLink(_ link: String) {
        guard Self.isLink(link), !Self.siblings(of: link).contains(where: Self.isLive) else { return }
        _ = unsafe unlink(link)
    }

    /// Where the latest process that can be reached listens, found by its link; the link itself if no process listens
    /// any more.
    ///
    /// - Returns: `nil` if there is no link, or if this user may not connect: then there is no such socket for this
    ///   user.
    package static func path(behind link: String) -> String? {
        guard Self.isLink(link) else { return nil }
        for path in (Self.target(of: link).map { [$0] } ?? []) + Self.siblings(of: link) {
            switch Self.connect(path) {
            case 0, EAGAIN, EINPROGRESS: return path
            case EACCES, EPERM: return nil
            default: continue
            }
        }
        return link
    }

    private static func point(_ link: String, to path: String) throws(SocketFileError) {
        let name = Self.name(of: path)
        let temporary = "\(link).tmp"
        _ = unsafe unlink(temporary)
        guard !Self.isSomethingElse(link) else {
            throw SocketFileError(path: link, reason: "a file that is not a symbolic link is in the way; move it away")
        }
        guard unsafe symlink(name, temporary) == 0, unsafe rename(temporary, link) == 0 else {
            let reason = SystemCallError.text(of: errno)
            _ = unsafe unlink(temporary)
            throw SocketFileError(path: link, reason: "its link can't be made: \(reason)")
        }
    }

    /// The sockets of processes beside a link, the youngest first.
    private static func siblings(of link: String) -> [String] {
        let directory = WholeFile.directory(of: link)
        let start = "\(Self.name(of: link))."
        let names = (try? PrivateDirectory.names(in: directory)) ?? []
        return names.filter { $0.hasPrefix(start) && $0.utf8.count == start.utf8.count + Self.nameLength }
            .compactMap { name -> (String, Int, Int)? in
                let path = "\(directory)/\(name)"
                var status = stat()
                guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
                return (path, status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
            }
            .sorted { (left: (String, Int, Int), right: (String, Int, Int)) in (left.1, left.2) > (right.1, right.2) }
            .map(\.0)
    }

    private static func target(of link: String) -> String? {
        var bytes = [CChar](repeating: 0, count: 256)
        let count = unsafe readlink(link, &bytes, bytes.count)
        guard count > 0 else { return nil }
        let target = String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return target.hasPrefix("/") ? target : "\(WholeFile.directory(of: link))/\(target)"
    }

    private static func isLink(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    private static func isSomethingElse(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFLNK
    }

    private static func isLive(_ path: String) -> Bool { [0, EAGAIN, EINPROGRESS].contains(Self.connect(path)) }

    /// The system's result of connecting: 0 if a process listens.
    private static func connect(_ path: String) -> CInt {
        guard let address = try? SocketAddress(unixDomainSocketPath: path) else { return ENAMETOOLONG }
        let probe = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
        guard probe >= 0 else { return errno }
        defer { close(probe) }
        return unsafe address.withSockAddr { unsafe Glibc.connect(probe, $0, socklen_t($1)) } == 0 ? 0 : errno
    }

    private static func name(of path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

    private static let nameLength = 6

    private static func randomName() -> String {
        String((0..<Self.nameLength).map { _ in "0123456789abcdefghijklmnopqrstuvwxyz".randomElement() ?? "0" })
    }
}

/// The directory of a Unix socket, locked against other processes that bind sockets there.
struct SocketDirectory: ~Copyable {
    private let file: OpenFile
    private let path: String
    private let socket: String

    /// Opens the directory of the socket at `path`, and waits for other processes that hold it. They hold it for
    /// moments only, and the wait ends after 2 seconds.
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

    /// Refuses a directory in which others can replace our socket with theirs, and so collect the keys of clients that
    /// connect. The directory must belong to this user or to root, and nobody else may write to it unless it is sticky,
    /// which protects our files from others (unlink(2), rename(2)).
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

    /// Lets others bind sockets there. The end of the value's lifetime does the same.
    consuming func release() {}
}
