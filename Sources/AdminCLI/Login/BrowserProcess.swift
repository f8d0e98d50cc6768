internal import SystemSupport
package import TokenModel

/// A running program that opens an address. It is no part of this command: it may go on when the command has ended, as
/// a browser does that was not open before.
package struct BrowserProcess: Sendable {
    private let program: StartedProgram

    /// Starts the program, with its output discarded.
    ///
    /// - Parameter environment: its variables; it does not get the admin token, which it has no use for.
    /// - Returns: `nil` if the system does not start it.
    package init?(
        _ program: BrowserProgram,
        opening address: OpenableAddress,
        environment: [String: String] = CommandEnvironment.system.environment
    ) {
        let words = [program.path] + program.arguments(for: address)
        let variables = environment.filter { $0.key != AdminAccess.tokenVariable }
        guard let started = try? StartedProgram(words, environment: variables) else { return nil }
        self.program = started
    }

    /// Whether the program says within `patience` that it could not open the address. One that still runs has opened
    /// it, or is the browser.
    package func fails(within patience: Duration, clock: Timepiece) async -> Bool {
        let deadline = clock.now.boot.advanced(by: patience)
        while clock.now.boot < deadline, !Task.isCancelled {
            if let end = self.program.end() { return end != .exited(code: 0) }
            await clock.rest(until: clock.now.boot.advanced(by: .milliseconds(100)))
        }
        return false
    }
}
