internal import Glibc
internal import NIOCore

/// Why the system did not let a socket listen.
package enum ListenFault: Equatable, Sendable {
    /// Another process listens there.
    case inUse
    /// It is not an address of this machine, or a name that is unknown.
    case unavailable
    /// This user may not listen there, as with ports below 1024.
    case notAllowed
    /// An `errno` that has no name here.
    case system(CInt)
    /// Not an answer of the system's.
    case other

    /// Reads what opening a listener threw.
    package init(_ error: any Error) {
        switch error {
        case let error as IOError: self.init(errno: error.errnoCode)
        case is SocketAddressError.UnknownHost, is SocketAddressError: self = .unavailable
        default: self = .other
        }
    }

    /// Reads an `errno` of `bind(2)` or `listen(2)`.
    package init(errno code: CInt) {
        self =
            switch code {
            case EADDRINUSE: .inUse
            case EADDRNOTAVAIL: .unavailable
            case EACCES, EPERM: .notAllowed
            default: .system(code)
            }
    }

    /// For the operator: the rest of a sentence that says where.
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
