internal import Foundation
internal import TestKit

/// The program as its users run it: a process with arguments, an environment and standard input.
struct Program {
    struct Outcome {
        let status: Int32
        let output: String
        let complaint: String
    }

    private let directory: TemporaryDirectory
    /// Besides `HOME`, which is a directory of its own.
    private let environment: [String: String]

    init(environment: [String: String] = [:]) throws {
        self.directory = try TemporaryDirectory()
        self.environment = environment.merging(["HOME": self.directory.path]) { named, _ in named }
    }

    /// Writes a file that arguments can name.
    func file(_ name: String, _ text: String) throws -> String {
        let path = self.directory.path(of: name)
        try Data(text.utf8).write(to: URL(filePath: path))
        return path
    }

    func run(_ arguments: String..., input: String = "") async throws -> Outcome {
        try await self.run(arguments, input: input)
    }

    func run(_ arguments: [String], input: String = "") async throws -> Outcome {
        let process = Process()
        // The build puts the program beside the tests.
        process.executableURL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appending(path: "martlet")
        process.arguments = arguments
        process.environment = self.environment
        process.currentDirectoryURL = URL(filePath: self.directory.path)
        process.standardInput = try FileHandle(forReadingFrom: URL(filePath: self.file("stdin", input)))
        let (output, complaint) = (try self.file("stdout", ""), try self.file("stderr", ""))
        process.standardOutput = try FileHandle(forWritingTo: URL(filePath: output))
        process.standardError = try FileHandle(forWritingTo: URL(filePath: complaint))
        let status = try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Int32, any Error>) in
            process.terminationHandler = { ended.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { ended.resume(throwing: error) }
        }
        return Outcome(
            status: status,
            output: try String(contentsOfFile: output, encoding: .utf8),
            complaint: try String(contentsOfFile: complaint, encoding: .utf8)
        )
    }
}
