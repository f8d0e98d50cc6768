internal import Logging
internal import Synchronization

/// Keeps all that was logged, at every level.
final class LogCollector: Sendable {
    private let lines = Mutex<[String]>([])

    var text: String { self.lines.withLock { $0.joined(separator: "\n") } }

    var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(collector: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let collector: LogCollector
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            self.collector.lines.withLock {
                $0.append("\(event.level) \(event.message) \(event.metadata ?? [:])")
            }
        }
    }
}
