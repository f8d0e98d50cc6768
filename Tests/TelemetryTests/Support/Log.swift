import Logging
import Telemetry
import TestKit
import Testing

/// A log whose output a test can read.
struct Log {
    let writer: LogWriter
    let output: CapturedOutput

    init(_ format: LogFormat, limits: LogLimits = LogLimits()) throws {
        self.output = try CapturedOutput()
        self.writer = LogWriter(
            to: LogOutput(descriptor: self.output.descriptor),
            format: format,
            limits: limits
        ) { .sample }
    }

    func logger(_ level: Logger.Level = .trace) -> Logger {
        Logger(label: "test") { _ in
            QueuedLogHandler(self.writer, threshold: LogThreshold(level)) { LogClock.sample.now }
        }
    }

    /// Closes the log and returns everything that was written.
    func finished() async throws -> String {
        try #require(await self.writer.close(within: .seconds(60)))
        return self.output.text
    }
}
