internal import Listening

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
        let fault = ListenFault(cause)
        let message = "\(subject) can't listen on \(address): \(fault.reason); "
        switch fault {
        case .inUse: self.init(.addressInUse, "\(message)stop the other process or change \(key)")
        case .notAllowed: self.init(.notAllowed, "\(message)change \(key)")
        case .unavailable, .other: self.init(.addressUnavailable, "\(message)change \(key)")
        case .system: self.init(.listenerFailed, "\(message)change \(key)")
        }
    }
}

extension AdminServerError: Equatable {
    package static func == (left: AdminServerError, right: AdminServerError) -> Bool { left.code == right.code }
}
