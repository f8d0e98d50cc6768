import Foundation
import TestKit

/// One run of `martlet-mock`, from the build folder of the tests.
final class Program: Sendable {
    struct End {
        let code: Int32
        let output: String
        let errors: String
    }

    private let directory: TemporaryDirectory
    private let process: ChildProcess

    init(_ arguments: [String]) throws {
        let folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        self.directory = try TemporaryDirectory()
        self.process = try ChildProcess(
            folder.appending(path: "martlet-mock").path,
            arguments,
            in: self.directory.path,
            output: self.directory.path(of: "output"),
            errors: self.directory.path(of: "errors")
        )
    }

    /// Waits until the first line is complete. Returns `nil` if no line comes within a minute.
    func firstLine() async -> String? {
        let deadline = ContinuousClock.now.advanced(by: .seconds(60))
        while ContinuousClock.now < deadline {
            let isOver = self.process.endedWith != nil
            let text = self.text("output")
            if let end = text.firstIndex(of: "\n") { return String(text[..<end]) }
            if isOver { return text }
            try? await Task.sleep(for: .milliseconds(5))
        }
        return nil
    }

    func send(_ signal: Int32) {
        self.process.signal(signal)
    }

    /// Waits until the program ends. A program that runs longer than a minute is killed, and its code shows that.
    func end() async -> End {
        let deadline = ContinuousClock.now.advanced(by: .seconds(60))
        while true {
            if ContinuousClock.now >= deadline { self.process.signal(9) }
            if let code = self.process.endedWith {
                return End(code: code, output: self.text("output"), errors: self.text("errors"))
            }
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    private func text(_ name: String) -> String {
        String(decoding: self.directory.bytes(of: name) ?? [], as: UTF8.self)
    }
}
