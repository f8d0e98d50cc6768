internal import Glibc
internal import NIOCore

/// The file of a Unix socket that a process listens on, from its binding to its removal.
package struct UnixSocketFile: Sendable {
    private let path: String
    private let identity: Identity

    /// Identifies the file, whatever its name.
    private struct Identity: Sendable, Equatable {
        let device: dev_t
        let inode: ino_t
    }

    /// Listens on `path`. A socket left there by a dead process is removed first. A socket on which a process listens,
    /// and anything that is no socket, stays.
    ///
    /// - Parameters:
    ///   - mode: of the file: a user who may write to it may connect. The file never has a wider mode, whatever the
    ///     process's umask.
    ///   - replacing: takes the place of a socket on which a process listens, without a moment in which there is none.
    /// - Returns: the file, and the listening socket, which the calling code must close.
    /// - Throws: also if others could put another socket in its place.
    package static func bind(
        _ path: String,
        mode: UInt32,
        replacing: Bool = false
    ) throws(SocketFileError) -> (file: UnixSocketFile, socket: CInt) {
        // With `replacing` the socket listens under a name of its own until it takes the other's place.
        let name = replacing ? Self.nameBeside(path) : path
        guard let address = try? SocketAddress(unixDomainSocketPath: name) else {
            throw SocketFileError(path: path, reason: "the path is too long for a socket")
        }
        // Two processes that start at once must not remove each other's socket: the second one finds this lock.
        let directory = try SocketDirectory(of: path)
        try directory.checkOwnership()
        if replacing {
            try Self.checkReplaceable(path)
        } else {
            try Self.removeAbandoned(path, address)
        }

        let socket = Self.makeSocket()
        guard socket >= 0 else {
            throw SocketFileError(
                path: path,
                reason: "no socket can be opened: the process may be out of file descriptors"
            )
        }
        // The file gets the socket's own mode at its binding, less the umask (unix(7) on Linux). So it is never open to
        // others, and the umask, which all threads share, can stay as it is.
        guard fchmod(socket, mode) == 0,
            unsafe address.withSockAddr({ unsafe Glibc.bind(socket, $0, socklen_t($1)) }) == 0
        else {
            let code = errno
            close(socket)
            throw SocketFileError(path: path, reason: ListenFault(errno: code).reason)
        }
        // Restores the mode bits that the umask took, before anybody can connect, and before the directory is released:
        // a socket that does not listen looks like a dead process's.
        guard unsafe chmod(name, mode) == 0, let identity = Self.identity(of: name), listen(socket, 4_096) == 0,
            unsafe !replacing || rename(name, path) == 0
        else {
            close(socket)
            _ = unsafe unlink(name)
            throw SocketFileError(path: path, reason: "its mode can't be set, or it can't be put in its place")
        }
        directory.release()
        return (UnixSocketFile(path: path, identity: identity), socket)
    }

    /// Removes the file, if it still is the one that was bound.
    package func remove() {
        self.change { _ = unsafe unlink(self.path) }
    }

    /// Changes who may connect, if it still is the file that was bound.
    package func setMode(_ mode: UInt32) {
        self.change { _ = unsafe chmod(self.path, mode) }
    }

    private func change(_ change: () -> Void) {
        // A successor must not put its own file there between the check and the change.
        guard let directory = try? SocketDirectory(of: self.path) else { return }
        if Self.identity(of: self.path) == self.identity { change() }
        directory.release()
    }

    private static func checkReplaceable(_ path: String) throws(SocketFileError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFSOCK else { return }
        throw SocketFileError(path: path, reason: "a file that is not a socket is in the way; move it away")
    }

    private static func nameBeside(_ path: String) -> String {
        let number = String(UInt32.random(in: .min ... .max), radix: 36)
        return "\(WholeFile.directory(of: path))/.\(number)"
    }

    private static func removeAbandoned(_ path: String, _ address: SocketAddress) throws(SocketFileError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw SocketFileError(path: path, reason: "a file that is not a socket is in the way; move it away")
        }
        let probe = self.makeSocket()
        guard probe >= 0 else {
            throw SocketFileError(
                path: path,
                reason: "no socket can be opened: the process may be out of file descriptors"
            )
        }
        defer { close(probe) }
        let isTaken = unsafe address.withSockAddr { unsafe connect(probe, $0, socklen_t($1)) } == 0
        let code = isTaken ? EADDRINUSE : errno
        switch code {
        case ECONNREFUSED: _ = unsafe unlink(path)
        // The process that listened has removed it in the meantime.
        case ENOENT: break
        case EACCES, EPERM:
            let reason = "a socket is there that this user may not connect to; see who listens there"
            throw SocketFileError(path: path, reason: reason)
        case EPROTOTYPE:
            throw SocketFileError(path: path, reason: "a socket of another kind is there; move it away")
        // The queue of the listener is full.
        case EAGAIN: throw SocketFileError(path: path, reason: ListenFault.inUse.reason)
        default: throw SocketFileError(path: path, reason: ListenFault(errno: code).reason)
        }
    }

    private static func makeSocket() -> CInt {
        socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
    }

    private static func identity(of path: String) -> Identity? {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return nil }
        return Identity(device: status.st_dev, inode: status.st_ino)
    }
}

/// Why a process can't listen on the file of a Unix socket.
package struct SocketFileError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The socket's path, as it was asked for.
    package let path: String
    /// For the operator: the rest of a sentence that begins with the path; it also says what would help.
    package let reason: String

    package var description: String { "can't listen on unix:\(self.path): \(self.reason)" }
}

/// Why the system did not let a socket listen.
package enum ListenFault: Equatable, Sendable {
    /// Another process listens there.
    case inUse
    /// The address is not one of this machine, or its name is unknown.
    case unavailable
    /// This user may not listen there, as with ports below 1024.
    case notAllowed
    /// An `errno` that has no name here.
    case system(CInt)
    /// The error is not one of the system's.
    case other

    /// Classifies an error from opening a listener.
    package init(_ error: any Error) {
        switch error {
        case let error as IOError: self.init(errno: error.errnoCode)
        case is SocketAddressError.UnknownHost, is SocketAddressError: self = .unavailable
        default: self = .other
        }
    }

    /// Classifies an `errno` of `bind(2)` or `listen(2)`.
    package init(errno code: CInt) {
        self =
            switch code {
            case EADDRINUSE: .inUse
            case EADDRNOTAVAIL: .unavailable
            case EACCES, EPERM: .notAllowed
            default: .system(code)
            }
    }

    /// For the operator: the rest of a sentence that begins with the address.
    package var reason: String {
        switch self {
        case .inUse: "another process listens there"
        case .unavailable: "this machine has no such address"
        case .notAllowed: "this user may not listen there, as with ports below 1024"
        case .system(let code): "the system says: \(unsafe String(cString: strerror(code))) (\(code))"
        case .other: "the system can't make out the address"
        }
    }
}
