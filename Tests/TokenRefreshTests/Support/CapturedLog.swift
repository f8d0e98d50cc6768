import Logging
import Synchronization

/// All that was logged, as lines.
final class CapturedLog: Sendable {
    private let captured = Mutex<[String]>([])

    var lines: [String] { self.captured.withLock { $0 } }

    func logger() -> Logger {
        var logger = Logger(label: "test") { _ in Handler(log: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let log: CapturedLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        init(log: CapturedLog) { self.log = log }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let facts = event.metadata ?? [:]
            self.log.captured.withLock { $0.append("\(event.level) \(event.message) \(facts)") }
        }
    }
}
