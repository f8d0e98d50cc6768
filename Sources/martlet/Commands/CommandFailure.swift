/// Why a command did not do what was asked: one line for standard error, and the exit code. Equal when those are.
package struct CommandFailure: Error, Equatable, Sendable {
    /// What the program ends with.
    package let status: ProgramExit
    /// What failed, on what, what would help. Never a token.
    package let message: String

    package init(_ status: ProgramExit, _ message: String) {
        self.status = status
        self.message = message
    }
}

/// What the program's exit codes mean; from 64 on they are those of `sysexits.h`.
package enum ProgramExit: Int32, CaseIterable, Sendable {
    case done = 0
    /// It ran, and the answer is no.
    case no = 1
    /// The arguments or the input are not what the command takes, such as a name that nobody knows.
    case usage = 64
    /// The gateway can't be reached, or a port is busy.
    case unavailable = 69
    /// The admin token is missing or wrong, or this user may not open a port.
    case notAllowed = 77
    case badConfiguration = 78
}

extension ProgramExit {
    /// What the status code of an admin API's answer means for the command that asked.
    package init(httpStatus: Int) {
        switch httpStatus {
        case 200..<300: self = .done
        case 401, 403, 429: self = .notAllowed
        case 400, 404, 413: self = .usage
        default: self = .no
        }
    }
}
