internal import AdminAPI
internal import Synchronization
internal import TokenModel

/// What came of the last reload, for whoever asks how the gateway is: the log's line may be far back by then.
final class ReloadStatus: Sendable {
    private let current = Mutex(GatewayVitals.Configuration())

    /// As of now.
    var configuration: GatewayVitals.Configuration { self.current.withLock { $0 } }

    /// The gateway goes by what the file says, but for these parts.
    func followed(waiting parts: [String]) {
        self.current.withLock { $0 = GatewayVitals.Configuration(waitingParts: parts) }
    }

    /// The gateway goes by what it went by before. What waited for a restart then still does.
    func refused(_ news: ReloadNews, _ reasons: [String], at time: WallTime) {
        let refusal = GatewayVitals.Configuration.Refusal(at: time, code: news.rawValue, faults: reasons)
        self.current.withLock { $0.refusal = refusal }
    }
}
