internal import AdminAPI
internal import Synchronization
internal import TokenModel

/// The outcomes of a reload. Their names occur in the log and never change.
enum ReloadOutcome: String {
    /// The file was read, and the gateway follows it.
    case reloaded = "config_reloaded"
    /// A part of the change takes effect only after a restart.
    case restartNeeded = "config_needs_restart"
    /// The file was read, and callers no longer need keys.
    case callersRemoved = "callers_removed"
    /// The file has faults; nothing has changed.
    case invalid = "config_invalid"
    /// A certificate or its key can't be used; nothing has changed.
    case certificateUnusable = "certificate_unusable"
    /// A provider's settings can't be used; nothing has changed.
    case providerUnusable = "provider_unusable"
    /// Callers would no longer need keys, although other users can connect; nothing has changed.
    case callersNeeded = "callers_needed"
    /// An account's tokens would come from another origin, and requests in progress must not get such tokens; nothing
    /// has changed.
    case accountMoved = "account_moved"
    /// The change can't be recorded in the audit log; nothing has changed.
    case auditUnavailable = "audit_unavailable"
    /// The admin tokens can't be read; nothing has changed.
    case tokensUnusable = "admin_tokens_unusable"
}

/// The outcome of the last reload, for status requests: the log entry may be far back by then.
final class ReloadStatus: Sendable {
    private let current = Mutex(GatewayVitals.Configuration())

    /// The current outcome.
    var configuration: GatewayVitals.Configuration { self.current.withLock { $0 } }

    /// The gateway follows the file, except for these parts.
    func followed(waiting parts: [String]) {
        self.current.withLock { $0 = GatewayVitals.Configuration(waitingParts: parts) }
    }

    /// The gateway keeps its previous configuration. Parts that waited for a restart still wait.
    func refused(_ news: ReloadOutcome, _ reasons: [String], at time: WallTime) {
        let refusal = GatewayVitals.Configuration.Refusal(at: time, code: news.rawValue, faults: reasons)
        self.current.withLock { $0.refusal = refusal }
    }
}
