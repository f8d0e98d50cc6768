import Foundation

/// One run of `martlet-mock`, from the folder the tests were built into.
final class Program: Sendable {
    struct End {
        let code: Int32
        let output: String
        let errors: String
    }

    private let process = Process()
    private let output = Pipe()
    private let errors = Pipe()

    init(_ arguments: [String]) throws {
        let folder = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        self.process.executableURL = folder.appending(path: "martlet-mock")
        self.process.arguments = arguments
        self.process.standardOutput = self.output
        self.process.standardError = self.errors
        try self.process.run()
    }

    deinit {
        if self.process.isRunning { self.process.terminate() }
    }

    /// Reads until the first line is whole.
    @concurrent func firstLine() async -> String? {
        var line = Data()
        while let byte = try? self.output.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8) {
            line += byte
        }
        return String(data: line, encoding: .utf8)
    }

    func send(_ signal: Int32) {
        kill(self.process.processIdentifier, signal)
    }

    /// Waits until it is over.
    @concurrent func end() async -> End {
        let output = (try? self.output.fileHandleForReading.readToEnd()) ?? Data()
        let errors = (try? self.errors.fileHandleForReading.readToEnd()) ?? Data()
        self.process.waitUntilExit()
        return End(
            code: self.process.terminationStatus,
            output: String(decoding: output, as: UTF8.self),
            errors: String(decoding: errors, as: UTF8.self)
        )
    }
}
