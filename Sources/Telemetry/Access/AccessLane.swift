/// One event loop's path to the access log. It collects requests, and hands them on in batches.
///
/// The loop never waits. While another thread holds the log's lock, the batch waits here. Requests beyond a bound are
/// dropped and counted.
final class AccessLane {
    private static let batch = 64
    private static let bound = 1_024

    private let log: LogWriter
    var routes: [String]
    private var pending: [RequestRecord] = []
    private var lost = 0
    private var isClosing = false

    init(to log: LogWriter, routes: [String]) {
        self.log = log
        self.routes = routes
    }

    func append(_ record: RequestRecord) {
        guard self.pending.count < Self.bound else {
            self.lost += 1
            return
        }
        if self.pending.isEmpty { self.pending.reserveCapacity(Self.batch) }
        self.pending.append(record)
        if self.pending.count.isMultiple(of: Self.batch) || self.isClosing { self.handOn() }
    }

    /// Hands on the collected requests, if that is possible without waiting.
    func handOn() {
        guard !self.pending.isEmpty || self.lost > 0 else { return }
        let batch = AccessBatch(records: self.pending, routes: self.routes, lost: self.lost)
        guard self.log.take(batch, waiting: self.isClosing) else { return }
        self.pending = []
        self.lost = 0
    }

    /// Hands on the collected requests. From now on each request is handed on at once.
    func close() {
        self.isClosing = true
        self.handOn()
    }
}

/// Requests on their way from an event loop to the log.
package struct AccessBatch: Sendable {
    package var records: [RequestRecord]
    /// The names of the routes; ``RequestRecord/route`` counts them from 1.
    package let routes: [String]
    /// Requests that were dropped on the way.
    package var lost: Int

    package init(records: [RequestRecord], routes: [String], lost: Int) {
        self.records = records
        self.routes = routes
        self.lost = lost
    }
}
