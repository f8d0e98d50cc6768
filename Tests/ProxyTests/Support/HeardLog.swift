import Logging
import Synchronization

/// What the gateway has said, a line each: the message, then the facts.
final class HeardLog: Sendable {
    private let heard = Mutex<[String]>([])

    var lines: [String] { self.heard.withLock { $0 } }

    var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

    private struct Handler: LogHandler {
        let log: HeardLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        init(log: HeardLog) { self.log = log }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let facts = (event.metadata ?? [:]).map { " \($0)=\($1)" }.sorted().joined()
            self.log.heard.withLock { $0.append("\(event.level) \(event.message)\(facts)") }
        }
    }
}
