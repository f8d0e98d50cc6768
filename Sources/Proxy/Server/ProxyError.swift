import Listening

/// Why the proxy could not start. Equal when the codes are equal.
package struct ProxyError: Error, Sendable {
    /// Kinds of failure.
    package enum Code: String, Sendable {
        /// Another process listens there, or the address is not this machine's.
        case addressUnavailable
        /// This user may not listen there.
        case notAllowed
        /// The certificates that an upstream is to be trusted by can't be read.
        case trustUnreadable
        /// A certificate, its key or those who vouch for others can't be read, or don't fit.
        case certificateUnusable
    }

    package let code: Code
    /// For the operator: what failed, on what, what would help.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Reads what the system said when a listener was to be opened.
    init(listeningOn address: ProxyPlan.Address, _ fault: ListenFault) {
        let help =
            switch fault {
            case .inUse: "stop the other process or change listeners"
            case .unavailable, .notAllowed, .system, .other: "change listeners"
            }
        self.init(
            fault == .notAllowed ? .notAllowed : .addressUnavailable,
            "can't listen on \(address): \(fault.reason); \(help)"
        )
    }
}

extension ProxyError: Equatable {
    package static func == (left: ProxyError, right: ProxyError) -> Bool { left.code == right.code }
}
