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
