internal import Foundation
internal import TestKit

/// The program as users run it: a process with arguments, an environment and standard input.
struct Program {
    struct Outcome {
        let status: Int32
        let output: String
        let complaint: String
    }

    private let directory: TemporaryDirectory
    /// The environment variables. `HOME` is a temporary directory unless a test sets it.
    private let environment: [String: String]

    init(environment: [String: String] = [:]) throws {
        self.directory = try TemporaryDirectory()
        self.environment = environment.merging(["HOME": self.directory.path]) { named, _ in named }
    }

    /// Writes a file that arguments can name. Only this user can access it, as secret files require.
    func file(_ name: String, _ text: String) throws -> String {
        let path = self.directory.path(of: name)
        try Data(text.utf8).write(to: URL(filePath: path))
        try self.directory.setMode(0o600, of: name)
        return path
    }

    func run(_ arguments: String..., input: String = "") async throws -> Outcome {
        try await self.run(arguments, input: input)
    }

    func run(_ arguments: [String], input: String = "", device: String? = nil) async throws -> Outcome {
        try await self.outcome(of: self.start(arguments, input: self.file("stdin", input), device: device))
    }

    /// Waits for the end of a program that was started.
    func outcome(of process: ChildProcess) async throws -> Outcome {
        try await eventually("the program to end") { process.endedWith != nil }
        return Outcome(
            status: process.endedWith ?? -1,
            output: self.output,
            complaint: try String(contentsOfFile: self.directory.path(of: "stderr"), encoding: .utf8)
        )
    }

    /// Starts the program, and does not wait for its end.
    ///
    /// - Parameters:
    ///   - input: the path of its standard input.
    ///   - device: a path for the program's standard output, which is not read; `nil` for a file.
    func start(_ arguments: [String], input: String, device: String? = nil) throws -> ChildProcess {
        try ChildProcess(
            TestKit.Program.path(of: "martlet"),
            arguments,
            environment: self.environment,
            in: self.directory.path,
            input: input,
            output: device ?? self.directory.path(of: "stdout"),
            errors: self.directory.path(of: "stderr")
        )
    }

    /// The standard output so far.
    var output: String { (try? String(contentsOfFile: self.directory.path(of: "stdout"), encoding: .utf8)) ?? "" }

    /// Creates a named pipe, which can be the standard input.
    func pipe(_ name: String) throws -> String {
        try self.directory.makePipe(name)
        return self.directory.path(of: name)
    }
}
