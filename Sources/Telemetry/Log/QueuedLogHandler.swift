package import Logging
internal import Synchronization
package import TokenModel

/// Hands finished log lines to a ``LogWriter``. A caller pays for making the line, and never waits for the reader of
/// the log.
package struct QueuedLogHandler: LogHandler {
    private let writer: LogWriter
    private let clock: @Sendable () -> WallTime
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private let threshold: LogThreshold
    /// The level of this logger alone.
    private var ownLevel: Logger.Level?

    /// - Parameter threshold: the lowest level to log, unless the logger has a level of its own.
    package init(_ writer: LogWriter, threshold: LogThreshold, clock: @escaping @Sendable () -> WallTime) {
        self.writer = writer
        self.threshold = threshold
        self.clock = clock
    }

    package var logLevel: Logger.Level {
        get { self.ownLevel ?? self.threshold.level }
        set { self.ownLevel = newValue }
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var facts = self.metadata
        if let more = self.metadataProvider?.get() { facts.merge(more) { _, new in new } }
        if let more = event.metadata { facts.merge(more) { _, new in new } }
        var text = LineText(self.writer.format)
        text.begin(at: self.clock(), level: event.level.rawValue, message: "\(event.message)")
        // An error's description may contain the data that it failed on.
        if let error = event.error { text.add("error.type", "\(type(of: error))") }
        for (key, value) in facts.sorted(by: { $0.key < $1.key }) { text.add(key, value) }
        text.end()
        self.writer.take(text.take())
    }
}

extension LineText {
    mutating func add(_ key: String, _ value: Logger.MetadataValue) {
        switch value {
        case .string(let text): self.add(key, text)
        // Numbers stay numbers, so that a key has one type in all lines, of requests and of others.
        case .stringConvertible(let number as Int): self.add(key, Int64(number))
        case .stringConvertible(let number as Int64): self.add(key, number)
        case .stringConvertible(let number as UInt64): self.add(key, Int64(clamping: number))
        case .stringConvertible(let flag as Bool): self.add(key, flag)
        case .stringConvertible(let other): self.add(key, "\(other)")
        case .dictionary, .array:
            var json: [UInt8] = []
            json.append(value)
            self.add(key, json: json)
        }
    }
}

extension [UInt8] {
    /// Appends a value as JSON.
    fileprivate mutating func append(_ value: Logger.MetadataValue) {
        switch value {
        case .string(let text): self.appendQuoted(text)
        case .stringConvertible(let other): self.appendQuoted("\(other)")
        case .array(let values):
            self.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { self.append(UInt8(ascii: ",")) }
                self.append(value)
            }
            self.append(UInt8(ascii: "]"))
        case .dictionary(let values):
            self.append(UInt8(ascii: "{"))
            for (index, (key, value)) in values.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { self.append(UInt8(ascii: ",")) }
                self.appendQuoted(key)
                self.append(UInt8(ascii: ":"))
                self.append(value)
            }
            self.append(UInt8(ascii: "}"))
        }
    }
}

/// The lowest level to log: one value for all loggers, which may change while they are in use.
package final class LogThreshold: Sendable {
    private let index: Atomic<Int>

    package init(_ level: Logger.Level) {
        self.index = Atomic(Self.index(of: level))
    }

    /// Read for every line that may be logged.
    package var level: Logger.Level {
        get { Logger.Level.allCases[self.index.load(ordering: .relaxed)] }
        set { self.index.store(Self.index(of: newValue), ordering: .relaxed) }
    }

    private static func index(of level: Logger.Level) -> Int { Logger.Level.allCases.firstIndex(of: level) ?? 0 }
}
