internal import AdminAPI
internal import Proxy
internal import ServiceLifecycle
internal import Synchronization
internal import Telemetry
internal import TokenModel

/// Records the process's last hour from the counters behind the metrics, until the gateway stops.
///
/// Requests don't notice: they count what they always count, and this reads it.
final class TrafficRecorder: Service {
    private let proxy: ProxyServer
    private let refreshes: RefreshMeter
    private let timepiece: Timepiece
    private let history: Mutex<TrafficHistory>

    init(_ proxy: ProxyServer, _ refreshes: RefreshMeter, timepiece: Timepiece) {
        self.proxy = proxy
        self.refreshes = refreshes
        self.timepiece = timepiece
        self.history = Mutex(TrafficHistory(at: timepiece.now.boot))
    }

    func run() async {
        await cancelWhenGracefulShutdown {
            var next = self.timepiece.now.boot
            while !Task.isCancelled {
                next = max(next.advanced(by: .seconds(1)), self.timepiece.now.boot)
                await self.timepiece.rest(until: next)
                let isOver = self.history.withLock { history in
                    history.look(at: self.timepiece.now.boot, waiters: self.proxy.waiterCount)
                }
                guard isOver, !Task.isCancelled else { continue }
                let totals = TrafficTotals(await self.proxy.traffic(), self.refreshes.providers)
                self.history.withLock { $0.endInterval(at: self.timepiece.now.boot, totals) }
            }
        }
    }

    /// The samples so far. Their times are counted back from now: a wall clock that was set in between does not put
    /// them out of order.
    var samples: GatewayHistory {
        let now = self.timepiece.now
        let samples = self.history.withLock { $0.samples }
        return GatewayHistory(
            interval: TrafficHistory.interval,
            samples: samples.map { sample in
                GatewayHistory.Sample(
                    end: now.wall.advanced(by: now.boot.duration(to: sample.end)),
                    requests: sample.counts.requests,
                    clientErrors: sample.counts.clientErrors,
                    serverErrors: sample.counts.serverErrors,
                    refreshes: sample.counts.refreshes,
                    refreshFailures: sample.counts.refreshFailures,
                    waiters: sample.waiters
                )
            }
        )
    }
}
