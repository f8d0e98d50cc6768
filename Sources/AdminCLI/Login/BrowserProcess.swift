internal import CShims
internal import Glibc
package import TokenModel

/// A running program that opens an address. It is no part of this command: it may go on when the command has ended, as
/// a browser does that was not open before.
package struct BrowserProcess: Sendable {
    private let id: pid_t

    /// Starts the program: without a shell, without input, and with its output discarded. It gets no signals of this
    /// terminal, so that Ctrl-C here ends no browser.
    ///
    /// - Parameter environment: its variables; it does not get the admin token, which it has no use for.
    /// - Returns: `nil` if the system does not start it.
    package init?(
        _ program: BrowserProgram,
        opening address: OpenableAddress,
        environment: [String: String] = CommandEnvironment.system.environment
    ) {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        // Other descriptors, such as the listening socket, must not stay open in the browser.
        unsafe martlet_spawn_in(&actions, "/")

        // This command may ignore or block signals that a browser needs.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var (none, all) = (sigset_t(), sigset_t())
        unsafe sigemptyset(&none)
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        unsafe posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP)
        )

        let words = unsafe ([program.path] + program.arguments(for: address)).map { unsafe strdup($0) } + [nil]
        let settings = environment.filter { $0.key != AdminAccess.tokenVariable }.map { "\($0.key)=\($0.value)" }
        let variables = unsafe settings.map { unsafe strdup($0) } + [nil]
        defer { unsafe (words + variables).forEach { unsafe free($0) } }
        var id: pid_t = 0
        guard unsafe posix_spawn(&id, program.path, &actions, &attributes, words, variables) == 0 else { return nil }
        self.id = id
    }

    /// Whether the program says within `patience` that it could not open the address. One that still runs has opened
    /// it, or is the browser.
    package func fails(within patience: Duration, clock: Timepiece) async -> Bool {
        let end = clock.now.boot.advanced(by: patience)
        while clock.now.boot < end, !Task.isCancelled {
            var status: CInt = 0
            if unsafe waitpid(self.id, &status, WNOHANG) == self.id { return status != 0 }
            await clock.rest(until: clock.now.boot.advanced(by: .milliseconds(100)))
        }
        return false
    }
}
