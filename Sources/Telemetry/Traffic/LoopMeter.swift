package import TokenModel

/// Counts the requests of one event loop, and hands them to the access log.
///
/// It belongs to its loop: nobody else touches it, so there is neither a lock nor an atomic, and whoever wants the counts
/// asks on the loop. Make it there too, so that what it writes to lies in memory of that thread's own.
package final class LoopMeter {
    /// All that was counted so far.
    package private(set) var counts: TrafficCounts
    private var accessLog: AccessLane?

    /// - Parameters:
    ///   - routes: their names, in the order of the configuration.
    ///   - log: takes a line per request; `nil` writes none.
    package init(routes: [String], log: LogWriter?) {
        self.counts = TrafficCounts(routes: routes.count)
        self.accessLog = log.map { AccessLane(to: $0, routes: routes) }
    }

    /// Goes by another configuration.
    ///
    /// - Parameters:
    ///   - routes: begin with those there were, so that what was counted stays where it is.
    ///   - log: takes a line per request from now on.
    package func reload(routes: [String], log: LogWriter?) {
        self.counts.grow(routes: routes.count)
        guard let log else {
            self.accessLog?.close()
            self.accessLog = nil
            return
        }
        if let lane = self.accessLog {
            lane.routes = routes
        } else {
            self.accessLog = AccessLane(to: log, routes: routes)
        }
    }

    /// A head left with a token.
    ///
    /// - Parameter route: as in ``RequestRecord/route``.
    package func injected(route: Int) {
        self.counts.addInjection(route: route)
    }

    /// A request is over. Once per request.
    package func ended(_ record: consuming RequestRecord, at now: BootInstant) {
        record.endedAt = now
        self.counts.add(record)
        self.accessLog?.append(record)
    }

    /// Hands on what waits here for the access log. To be called now and then, since single requests wait for more.
    package func handOn() {
        self.accessLog?.handOn()
    }

    /// The loop is about to end: from now on nothing waits here.
    package func close() {
        self.accessLog?.close()
    }
}
