internal import AdminAPI
internal import Synchronization
internal import TokenModel

/// What a reload has to say, by names that do not change: they stand in the log.
enum ReloadNews: String {
    /// The file was read, and the gateway goes by it.
    case reloaded = "config_reloaded"
    /// Something else was changed, which only a restart brings about.
    case restartNeeded = "config_needs_restart"
    /// The file was read, and it asks callers for no keys any more.
    case callersRemoved = "callers_removed"
    /// The file has faults; nothing has changed.
    case invalid = "config_invalid"
    /// A certificate, or its key, can't be used; nothing has changed.
    case certificateUnusable = "certificate_unusable"
    /// A provider can't be asked as the file says; nothing has changed.
    case providerUnusable = "provider_unusable"
    /// Callers would no longer need keys where others than this user can connect; nothing has changed.
    case callersNeeded = "callers_needed"
    /// An account's tokens would come from elsewhere, while requests are under way that may not get such; nothing has
    /// changed.
    case accountMoved = "account_moved"
    /// The change can't be put into the audit log; nothing has changed.
    case auditUnavailable = "audit_unavailable"
    /// The admin tokens can't be read; nothing has changed.
    case tokensUnusable = "admin_tokens_unusable"
}

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
