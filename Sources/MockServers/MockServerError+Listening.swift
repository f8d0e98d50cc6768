internal import Listening

extension MockServerError {
    /// Reads what the system said when the listener was to be opened.
    init(listeningOn host: String, port: Int, _ error: any Error) {
        let fault = ListenFault(error)
        let message = "cannot listen on \(host):\(port): \(fault.reason)"
        switch fault {
        case .inUse: self.init(.addressInUse, "\(message); use --port with another one, or 0")
        case .notAllowed: self.init(.notAllowed, message)
        case .unavailable: self.init(.addressUnavailable, message)
        case .system, .other: self.init(.listenerFailed, message)
        }
    }
}
