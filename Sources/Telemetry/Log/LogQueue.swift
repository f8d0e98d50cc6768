/// Lines that wait to be written, up to a bound, and the number of those that found no room.
///
/// Lines of requests can't use the last quarter: however many there are, warnings and errors find room.
package struct LogQueue: Sendable {
    /// One item to write.
    package enum Item: Sendable {
        /// A finished line, with its line feed.
        case line([UInt8])
        /// Requests. The writer makes their lines.
        case requests(AccessBatch)
    }

    /// About the size of a request's line.
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

    /// Appends as many of the requests as fit into three quarters of the bounds, and counts the others as lost.
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

    /// Removes and returns all items, and how many lines were lost after them.
    package mutating func take() -> (items: [Item], lost: Int) {
        defer { self = LogQueue(self.limits) }
        return (self.items, self.lost)
    }
}

/// How much of the log may wait to be written. Lines beyond that are dropped and counted.
package struct LogLimits: Sendable {
    /// In lines, including those of requests.
    package var lines: Int
    /// In bytes. A request counts as ``LogQueue/requestBytes``, which few lines exceed.
    package var bytes: Int

    package init(lines: Int = 16_384, bytes: Int = 4 << 20) {
        self.lines = lines
        self.bytes = bytes
    }
}
