internal import CShims
internal import Glibc

/// A program that this process has started: without a shell, without input, and with none of this process's open files.
///
/// It runs in `/`, in a process group of its own, so that Ctrl-C at this terminal doesn't reach it, and with the default
/// for each signal.
package struct StartedProgram: Sendable {
    private let id: pid_t

    /// How a program has ended.
    package enum End: Equatable, Sendable {
        case exited(code: Int32)
        case killed(signal: Int32)
    }

    /// - Parameters:
    ///   - words: the program and its arguments. The program is a path, or a name that is looked for in this process's
    ///     `PATH`.
    ///   - output: the descriptor that becomes its standard output; `nil` discards what it writes. So with `errors`.
    package init(
        _ words: [String],
        environment: [String: String],
        output: CInt? = nil,
        errors: CInt? = nil
    ) throws(SystemCallError) {
        let name = words.first ?? ""
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        for (number, target) in [(STDOUT_FILENO, output), (STDERR_FILENO, errors)] {
            if let target {
                unsafe posix_spawn_file_actions_adddup2(&actions, target, number)
            } else {
                unsafe posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_WRONLY, 0)
            }
        }
        // Other descriptors, such as a listening socket, must not stay open in the program.
        unsafe martlet_spawn_in(&actions, "/")

        // This process may ignore or block signals that the program needs.
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

        let arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        let variables = unsafe environment.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer { unsafe (arguments + variables).forEach { unsafe free($0) } }
        var id: pid_t = 0
        let failure = unsafe posix_spawnp(&id, name, &actions, &attributes, arguments, variables)
        guard failure == 0 else { throw SystemCallError(failure, "can't start \(name)") }
        self.id = id
    }

    /// How the program has ended; `nil` while it runs. Must not be asked again after it has said so: the system may have
    /// given the number to another process.
    package func end() -> End? {
        var status: CInt = 0
        guard OpenFile.retrying({ unsafe waitpid(self.id, &status, WNOHANG) }) == self.id else { return nil }
        let signal = status & 0x7F
        return signal == 0 ? .exited(code: status >> 8 & 0xFF) : .killed(signal: signal)
    }

    /// Ends the program and what it has started in its process group, and waits until it is gone, at most 5 s: the system
    /// may be unable to end it before a disk answers. Must not follow an ``end()`` that said how it has ended.
    package func kill() {
        Glibc.kill(-self.id, SIGKILL)
        // It may have gone over to another group.
        Glibc.kill(self.id, SIGKILL)
        for _ in 0..<500 {
            guard self.end() == nil else { return }
            _ = poll(nil, 0, 10)
        }
    }
}
