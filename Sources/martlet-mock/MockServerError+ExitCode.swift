internal import MockServers

extension MockServerError {
    /// The exit code that says what kind of trouble it was (sysexits.h).
    var exitCode: Int32 {
        switch self.code {
        case .addressInUse, .addressUnavailable, .listenerFailed: 69
        case .notAllowed: 77
        case .badCertificate: 64
        }
    }
}
