internal import CShims
internal import FoundationEssentials
internal import Glibc
internal import Synchronization

/// A program that a test runs. Its output goes to files.
///
/// It does not use Foundation's `Process`, which reads directory entries of `/proc/self/fd` past their end and thereby
/// sometimes crashes the tests when many threads run.
package final class ChildProcess: Sendable {
    /// The operating system did not start the program.
    package struct SpawnFailure: Error {
        package let number: Int32
    }

    package let id: Int32
    private let exitCode = Mutex<Int32?>(nil)

    /// - Parameters:
    ///   - environment: `nil` passes this process's environment.
    ///   - output: the path of a file, which is created or truncated. The same applies to `errors`.
    package init(
        _ executable: String,
        _ arguments: [String],
        environment: [String: String]? = nil,
        in directory: String,
        input: String = "/dev/null",
        output: String,
        errors: String
    ) throws {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        let writing = O_WRONLY | O_CREAT | O_TRUNC
        unsafe posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, 1, output, writing, 0o600)
        unsafe posix_spawn_file_actions_addopen(&actions, 2, errors, writing, 0o600)
        unsafe martlet_spawn_in(&actions, directory)

        // The thread that starts the program may have signals blocked, and the program would inherit that.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var blocked = sigset_t()
        unsafe sigemptyset(&blocked)
        unsafe posix_spawnattr_setsigmask(&attributes, &blocked)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

        var id: pid_t = 0
        let words = unsafe ([executable] + arguments).map { unsafe strdup($0) } + [nil]
        let settings = unsafe environment.map { unsafe $0.map { unsafe strdup("\($0)=\($1)") } + [nil] }
        defer { unsafe (words + (settings ?? [])).forEach { unsafe free($0) } }
        let failure =
            if let settings = unsafe settings {
                unsafe posix_spawn(&id, executable, &actions, &attributes, words, settings)
            } else {
                unsafe posix_spawn(&id, executable, &actions, &attributes, words, environ)
            }
        guard failure == 0 else { throw SpawnFailure(number: failure) }
        self.id = id
    }

    deinit {
        guard self.endedWith == nil else { return }
        kill(self.id, SIGKILL)
        waitpid(self.id, nil, 0)
    }

    /// The exit code, or the number of the signal that ended the process; `nil` while it runs.
    package var endedWith: Int32? {
        self.exitCode.withLock { exitCode in
            if exitCode == nil {
                var status: Int32 = 0
                if unsafe waitpid(self.id, &status, WNOHANG) == self.id {
                    exitCode = status & 0x7F == 0 ? status >> 8 & 0xFF : status & 0x7F
                }
            }
            return exitCode
        }
    }

    /// Sends a signal if the process still runs.
    package func signal(_ number: Int32) {
        if self.endedWith == nil { kill(self.id, number) }
    }
}

/// What a script complained about that has failed.
package struct FailedScript: Error, CustomStringConvertible {
    package let description: String
}

extension ChildProcess {
    /// Whether a program is in a directory of `PATH`, or in one of `directories`.
    static func isInstalled(_ program: String, besides directories: [String] = []) -> Bool {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return (path + directories).contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(program)") }
    }

    /// Runs a script with `/bin/sh` to its end.
    ///
    /// - Returns: what it prints.
    /// - Throws: where it fails, with what it complains about.
    @discardableResult
    static func runScript(_ script: String) async throws -> String {
        let files = try TemporaryDirectory()
        let (output, errors) = (files.path(of: "output"), files.path(of: "errors"))
        let child = try ChildProcess("/bin/sh", ["-eu", "-c", script], in: "/tmp", output: output, errors: errors)
        try await eventually("the end of a script") { child.endedWith != nil }
        let told = (try? String(contentsOfFile: errors, encoding: .utf8)) ?? ""
        let printed = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
        guard child.endedWith == 0 else { throw FailedScript(description: "\(told)\(printed)") }
        return printed
    }
}
