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
    ///
    /// - Parameter own: the addresses that this process listens on already.
    init(
        listeningOn address: ProxyConfiguration.Address,
        _ fault: ListenFault,
        beside own: [ProxyConfiguration.Address] = []
    ) {
        let message = "can't listen on \(address): "
        switch fault {
        case .inUse:
            if let other = own.first(where: { $0.collides(with: address) }) {
                self.init(.addressUnavailable, "\(message)the listener on \(other) has that port; change listeners")
            } else {
                self.init(
                    .addressUnavailable,
                    "\(message)\(fault.reason); stop the other process or change listeners"
                )
            }
        case .notAllowed: self.init(.notAllowed, "\(message)\(fault.reason); change listeners")
        case .unavailable, .system, .other:
            self.init(.addressUnavailable, "\(message)\(fault.reason); change listeners")
        }
    }
}

extension ProxyError {
    init(_ error: SocketFileError) { self.init(.addressUnavailable, error.description) }
}

extension ProxyError: Equatable {
    package static func == (left: ProxyError, right: ProxyError) -> Bool { left.code == right.code }
}
