package import Logging
internal import Synchronization

/// Records the log entries of its ``logger``, at every level.
package final class RecordingLog: Sendable {
    private let heard = Mutex<[(line: String, facts: Logger.Metadata)]>([])

    package init() {}

    /// One line per log entry: the level, the message, then the metadata as `name=value`, sorted by name.
    package var lines: [String] { self.heard.withLock { $0.map { $0.line } } }

    /// The metadata of each log entry.
    package var facts: [Logger.Metadata] { self.heard.withLock { $0.map { $0.facts } } }

    package var text: String { self.lines.joined(separator: "\n") }

    package var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(log: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let log: RecordingLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        init(log: RecordingLog) { self.log = log }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let facts = self.metadata.merging(event.metadata ?? [:]) { $1 }
            let texts = facts.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            let line = (["\(event.level)", "\(event.message)"] + texts).joined(separator: " ")
            self.log.heard.withLock { $0.append((line, facts)) }
        }
    }
}
