internal import Glibc
internal import NIOCore

/// Why the admin API can't be served. Equal when the codes are equal.
package struct AdminServerError: Error, Sendable {
    /// What went wrong, for programs.
    package enum Code: String, Sendable {
        /// Another process listens there.
        case addressInUse
        /// It is not an address of this machine.
        case addressUnavailable
        /// This user may not listen there, as with ports below 1024.
        case notAllowed
        /// The system refused for another reason.
        case listenerFailed
    }

    package let code: Code
    /// For the operator: what failed, on what, what would help.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// What a listener is for.
    enum Role { case admin, metrics }

    /// Reads what the system said when a listener was to be opened.
    init(listeningOn address: AdminAddress, as role: Role, _ cause: any Error) {
        let (subject, key) =
            switch role {
            case .admin: ("the admin API", "admin.address")
            case .metrics: ("the metrics listener", "metrics.address")
            }
        let attempt = "\(subject) can't listen on \(address)"
        let help = "change \(key)"
        guard let cause = cause as? IOError else {
            self.init(.addressUnavailable, "\(attempt): it is not an address; \(help)")
            return
        }
        switch cause.errnoCode {
        case EADDRINUSE:
            self.init(.addressInUse, "\(attempt): the port is busy; stop the other process or \(help)")
        case EADDRNOTAVAIL:
            self.init(.addressUnavailable, "\(attempt): this machine has no such address; \(help)")
        case EACCES, EPERM:
            self.init(.notAllowed, "\(attempt): this user may not open the port; use one above 1023 or \(help)")
        default:
            self.init(.listenerFailed, "\(attempt): the system refused with error \(cause.errnoCode); \(help)")
        }
    }
}

extension AdminServerError: Equatable {
    package static func == (left: AdminServerError, right: AdminServerError) -> Bool { left.code == right.code }
}
