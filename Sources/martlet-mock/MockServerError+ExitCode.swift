internal import MockServers

extension MockServerError {
    /// The exit code for the kind of error (sysexits.h).
    var exitCode: Int32 {
        switch self.code {
        case .addressInUse, .addressUnavailable, .listenerFailed: 69
        case .notAllowed: 77
        case .badCertificate: 64
        }
    }
}
