/// Lines that wait to be written, up to a bound, and the count of those that found no room.
///
/// The last quarter is kept from the lines of requests: however many there are, what goes wrong finds room.
package struct LogQueue: Sendable {
    /// Something to be written.
    package enum Item: Sendable {
        /// A finished line, with its end.
        case line([UInt8])
        /// Requests, whose lines are made by the writer.
        case requests(AccessBatch)
    }

    /// About what a request's line takes.
    package static let requestBytes = 256

    private let limits: LogLimits
    private var items: [Item] = []
    private var lines = 0
    private var bytes = 0
    private var lost = 0

    package init(_ limits: LogLimits) {
        self.limits = limits
    }

    package var isEmpty: Bool { self.items.isEmpty && self.lost == 0 }

    /// Appends a line, or counts it as lost.
    package mutating func append(_ line: [UInt8]) {
        guard self.lines < self.limits.lines, self.bytes + line.count <= self.limits.bytes else {
            self.lost += 1
            return
        }
        self.items.append(.line(line))
        self.lines += 1
        self.bytes += line.count
    }

    /// Appends as many of the requests as three quarters of the bounds have room for, and counts the others as lost.
    package mutating func append(_ batch: AccessBatch) {
        var batch = batch
        let mostLines = self.limits.lines - self.limits.lines / 4
        let mostBytes = self.limits.bytes - self.limits.bytes / 4
        let room = min(mostLines - self.lines, (mostBytes - self.bytes) / Self.requestBytes)
        let taken = max(min(room, batch.records.count), 0)
        self.lost += batch.lost + batch.records.count - taken
        batch.lost = 0
        guard taken > 0 else { return }
        if taken < batch.records.count { batch.records.removeLast(batch.records.count - taken) }
        self.items.append(.requests(batch))
        self.lines += taken
        self.bytes += taken * Self.requestBytes
    }

    /// Takes all that waits, and how many lines were lost behind it.
    package mutating func take() -> (items: [Item], lost: Int) {
        defer { self = LogQueue(self.limits) }
        return (self.items, self.lost)
    }
}

/// How much of the log may wait to be written. One more line than that is left out, and counted.
package struct LogLimits: Sendable {
    /// Lines, those of requests included.
    package var lines: Int
    /// Of all that waits. A request counts as much as its line takes at most, as a rule.
    package var bytes: Int

    package init(lines: Int = 16_384, bytes: Int = 4 << 20) {
        self.lines = lines
        self.bytes = bytes
    }
}
