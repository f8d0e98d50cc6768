package import GatewayServer
internal import TokenStorage

/// Why a command failed: one line for standard error, and the exit code. Two failures are equal if both parts are.
package struct CommandFailure: Error, Equatable, Sendable {
    /// The program's exit code.
    package let status: ProgramExit
    /// What failed, where, and what helps. Never contains a token.
    package let message: String

    package init(_ status: ProgramExit, _ message: String) {
        self.status = status
        self.message = message
    }
}

/// The program's exit codes. From 64 on they are those of `sysexits.h`.
package enum ProgramExit: Int32, CaseIterable, Sendable {
    case done = 0
    /// The command ran, and the result is negative.
    case no = 1
    /// The arguments or the input are invalid, for example an unknown name.
    case usage = 64
    /// The gateway can't be reached, or a port is busy.
    case unavailable = 69
    /// The admin token is missing or wrong, or this user may not open a port.
    case notAllowed = 77
    case badConfiguration = 78
}

extension ProgramExit {
    /// The exit code for the HTTP status code of an admin API response.
    package init(httpStatus: Int) {
        switch httpStatus {
        case 200..<300: self = .done
        case 401, 403, 429: self = .notAllowed
        case 400, 404, 413: self = .usage
        default: self = .no
        }
    }
}

extension ProgramExit {
    /// The exit code for a gateway that can't start.
    package init(_ code: StartError.Code) {
        switch code {
        case .unavailable: self = .unavailable
        case .notAllowed: self = .notAllowed
        case .badConfiguration: self = .badConfiguration
        }
    }
}

extension CommandFailure {
    package init(_ error: StartError) { self.init(ProgramExit(error.code), error.message) }

    init(_ error: StoreError, store: String) { self.init(StartError(error, store: store)) }
}
