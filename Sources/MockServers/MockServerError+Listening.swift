internal import Glibc
internal import NIOCore

extension MockServerError {
    /// Reads what the system said when the listener was to be opened.
    init(listeningOn host: String, port: Int, _ error: any Error) {
        let place = "\(host):\(port)"
        switch error {
        case let error as MockServerError:
            self = error
        case let error as IOError where error.errnoCode == EADDRINUSE:
            self.init(.addressInUse, "cannot listen on \(place): the port is busy; use --port with another one, or 0")
        case let error as IOError where error.errnoCode == EACCES:
            self.init(.notAllowed, "cannot listen on \(place): not allowed; use a port above 1023")
        case let error as IOError where error.errnoCode == EADDRNOTAVAIL:
            self.init(.addressUnavailable, "cannot listen on \(place): this machine has no such address")
        case is SocketAddressError.UnknownHost:
            self.init(.addressUnavailable, "cannot listen on \(place): the name is unknown")
        default:
            self.init(.listenerFailed, "cannot listen on \(place): \(error)")
        }
    }
}
