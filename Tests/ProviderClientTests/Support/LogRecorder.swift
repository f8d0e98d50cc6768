import Logging
import Synchronization

/// Keeps every line that is logged through it, of any level.
final class LogRecorder: Sendable {
    private let recorded = Mutex<[String]>([])

    var lines: [String] { self.recorded.withLock { $0 } }

    func logger() -> Logger {
        var logger = Logger(label: "test") { _ in Handler(recorder: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let facts = self.metadata.merging(event.metadata ?? [:]) { $1 }
                .sorted { $0.key < $1.key }
                .map { "\($0.key)=\($0.value)" }
            let line = (["\(event.level)", "\(event.message)"] + facts).joined(separator: " ")
            self.recorder.recorded.withLock { $0.append(line) }
        }
    }
}
