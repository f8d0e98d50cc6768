import Listening
import NIOCore

#if canImport(Glibc)
    import Glibc
#endif

/// The file of a Unix socket that callers connect to, from its binding to its removal.
struct UnixSocketFile: Sendable {
    private let path: String
    private let identity: Identity

    /// Which file it is, whatever its name.
    private struct Identity: Sendable, Equatable {
        let device: dev_t
        let inode: ino_t
    }

    /// Who may connect: without keys for callers only this user, since nothing else would tell who it is.
    static func mode(hasCallers: Bool) -> mode_t { hasCallers ? 0o666 : 0o600 }

    /// Listens on `path`. What a process left there that has died is removed first; a socket on which somebody
    /// listens, and what is no socket, stays.
    ///
    /// - Parameters:
    ///   - mode: of the file; who may write to it may connect. It is set before anyone can.
    ///   - replacing: takes the place of a socket on which somebody listens, without a moment in which there is none.
    /// - Returns: the file, and the listening socket; whoever takes that closes it.
    static func bind(
        _ path: String,
        mode: mode_t,
        replacing: Bool = false
    ) throws(ProxyError) -> (file: UnixSocketFile, socket: CInt) {
        // It listens under a name of its own until it is put in the other's place.
        let name = replacing ? Self.nameBeside(path) : path
        guard let address = try? SocketAddress(unixDomainSocketPath: name) else {
            throw Self.unavailable(path, "the path is too long for a socket")
        }
        // Two that start at once must not remove each other's: the one that comes second finds this lock.
        let directory = unsafe open(Self.parent(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw Self.unavailable(path, "its directory can't be opened; make it") }
        defer { close(directory) }
        guard Self.lock(directory) else {
            throw Self.unavailable(path, "another process holds its directory, perhaps to listen there; try again")
        }
        defer { _ = flock(directory, LOCK_UN) }
        if replacing {
            try Self.checkReplaceable(path)
        } else {
            try Self.removeAbandoned(path, address)
        }

        let socket = Self.makeSocket()
        guard socket >= 0 else { throw Self.unavailable(path, "the system has no socket left") }
        guard unsafe address.withSockAddr({ unsafe Glibc.bind(socket, $0, socklen_t($1)) }) == 0 else {
            let code = errno
            close(socket)
            throw Self.unavailable(path, ListenFault(errno: code).reason)
        }
        // Before the lock is let go: a socket that does not listen looks like a dead process's.
        guard unsafe chmod(name, mode) == 0, let identity = Self.identity(of: name), listen(socket, 4_096) == 0,
            unsafe !replacing || rename(name, path) == 0
        else {
            close(socket)
            _ = unsafe unlink(name)
            throw Self.unavailable(path, "its mode can't be set, or it can't be put in its place")
        }
        return (UnixSocketFile(path: path, identity: identity), socket)
    }

    /// Removes the file, if it still is the one that was bound.
    func remove() {
        self.change { _ = unsafe unlink(self.path) }
    }

    /// Lets others connect from now on, if it still is the file that was bound.
    func setMode(_ mode: mode_t) {
        self.change { _ = unsafe chmod(self.path, mode) }
    }

    private func change(_ change: () -> Void) {
        // A successor must not put its own there between the look and the change.
        let directory = unsafe open(Self.parent(of: self.path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { if directory >= 0 { close(directory) } }
        guard directory >= 0, Self.lock(directory) else { return }
        defer { _ = flock(directory, LOCK_UN) }
        if Self.identity(of: self.path) == self.identity { change() }
    }

    /// Waits for others that bind sockets of their own there, which takes them no time, but not for ever. It is to be
    /// unlocked, not only closed: a process that is just being started has the directory open too.
    private static func lock(_ directory: CInt) -> Bool {
        for _ in 0..<100 {
            if flock(directory, LOCK_EX | LOCK_NB) == 0 { return true }
            usleep(20_000)
        }
        return false
    }

    private static func checkReplaceable(_ path: String) throws(ProxyError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFSOCK else { return }
        throw self.unavailable(path, "something that is no socket is there; move it away")
    }

    private static func nameBeside(_ path: String) -> String {
        let number = String(UInt32.random(in: .min ... .max), radix: 36)
        return "\(self.parent(of: path))/.\(number)"
    }

    private static func removeAbandoned(_ path: String, _ address: SocketAddress) throws(ProxyError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw self.unavailable(path, "something that is no socket is there; move it away")
        }
        let probe = self.makeSocket()
        guard probe >= 0 else { throw self.unavailable(path, "the system has no socket left") }
        defer { close(probe) }
        let isRefused =
            unsafe address.withSockAddr { unsafe connect(probe, $0, socklen_t($1)) } != 0 && errno == ECONNREFUSED
        guard isRefused else { throw self.unavailable(path, "another process listens there") }
        _ = unsafe unlink(path)
    }

    private static func makeSocket() -> CInt {
        socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
    }

    private static func identity(of path: String) -> Identity? {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return nil }
        return Identity(device: status.st_dev, inode: status.st_ino)
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func unavailable(_ path: String, _ reason: String) -> ProxyError {
        ProxyError(.addressUnavailable, "can't listen on unix:\(path): \(reason)")
    }
}
