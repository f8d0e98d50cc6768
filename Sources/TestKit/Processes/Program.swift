internal import Foundation
internal import Testing

/// A program of the package, run as a user runs it: a process with arguments, output and an exit code.
package final class Program: Sendable {
    /// The result of a program that has ended.
    package struct Outcome: Sendable {
        package let exitCode: Int32
        package let output: String
        package let errors: String
    }

    /// A command prefix for all programs that this task starts, such as `nsenter`. It must exec the program.
    @TaskLocal package static var wrapper: [String] = []

    /// The value of `MARTLET_FAILPOINTS` for all programs that this task starts. Only debug builds have failpoints.
    @TaskLocal package static var failpoints: String?

    private let process: ChildProcess
    private let output: String
    private let errors: String

    /// Starts `name` (a product of the package, or a path). Its output goes to files in `directory`.
    ///
    /// - Parameter errors: a path for standard error; `nil` chooses a new file.
    package init(
        _ name: String,
        _ arguments: [String],
        in directory: TemporaryDirectory,
        input: String? = nil,
        errors: String? = nil
    ) throws {
        let run = "\(UInt64.random(in: .min ... .max))"
        self.output = directory.path(of: "\(run).out")
        self.errors = errors ?? directory.path(of: "\(run).err")
        if let input { try directory.write(Array(input.utf8), to: "\(run).in") }
        let environment = Self.failpoints.map { ["/usr/bin/env", "MARTLET_FAILPOINTS=\($0)"] } ?? []
        let command = Self.wrapper + environment + [name.contains("/") ? name : Self.path(of: name)] + arguments
        self.process = try ChildProcess(
            command[0],
            Array(command.dropFirst()),
            in: directory.path,
            input: input == nil ? "/dev/null" : directory.path(of: "\(run).in"),
            output: self.output,
            errors: self.errors
        )
    }

    /// The directory of the programs: `MARTLET_PROGRAMS`, or that of the debug builds, which is the test executable's.
    private static var products: URL {
        if Self.failpoints == nil, let directory = ProcessInfo.processInfo.environment["MARTLET_PROGRAMS"] {
            return URL(filePath: directory)
        }
        return URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    }

    /// The path of a product of the package.
    package static func path(of product: String) -> String { Self.products.appending(path: product).path }

    package var id: Int32 { self.process.id }

    /// Runs a program until it ends.
    package static func run(
        _ name: String,
        _ arguments: [String],
        in directory: TemporaryDirectory,
        input: String? = nil,
        limit: Duration = .seconds(60)
    ) async throws -> Outcome {
        try await Program(name, arguments, in: directory, input: input).ended(within: limit)
    }

    /// `nil` while the program runs.
    package var exitCode: Int32? { self.process.endedWith }

    package var isRunning: Bool { self.process.endedWith == nil }

    /// Whether SIGSTOP has stopped the process. In `/proc/PID/stat`, the state follows the name in parentheses.
    package var standsStill: Bool {
        let line = (try? String(contentsOfFile: "/proc/\(self.id)/stat", encoding: .utf8)) ?? ""
        return line.split(separator: ")").last?.split(separator: " ").first == "T"
    }

    /// The standard output so far.
    package var written: String { (try? String(contentsOfFile: self.output, encoding: .utf8)) ?? "" }

    /// The standard error output so far.
    package var complaints: String { (try? String(contentsOfFile: self.errors, encoding: .utf8)) ?? "" }

    /// Sends a signal to the process if it still runs.
    package func signal(_ number: Int32) {
        self.process.signal(number)
    }

    package func ended(within limit: Duration = .seconds(60)) async throws -> Outcome {
        try await eventually("the program to end", limit: limit) { !self.isRunning }
        return Outcome(
            exitCode: self.process.endedWith ?? -1,
            output: self.written,
            errors: self.complaints
        )
    }

    /// Waits until the program prints its address: the URL after `label`.
    package func address(behind label: String) async throws -> String {
        try await eventually("the program to say where it listens") {
            try #require(self.isRunning, "it ended: \(self.complaints)")
            return self.address(in: self.written, behind: label) != nil
        }
        return try #require(self.address(in: self.written, behind: label))
    }

    private func address(in text: String, behind label: String) -> String? {
        // The line must be complete: a truncated port number would be a wrong port.
        guard text.contains("\n"), let range = text.firstRange(of: label) else { return nil }
        return String(text[range.upperBound...].prefix { !$0.isWhitespace && $0 != "," })
    }
}
