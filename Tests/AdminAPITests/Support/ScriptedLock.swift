internal import AdminAPI
internal import Audit
internal import KillSwitch
internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// Gives the answers that a test sets, and records what it is asked for.
final class ScriptedLock: GatewayLocking {
    struct Kill: Equatable {
        let scope: KillScope
        let reason: String
        let streams: KillStreams
    }

    private struct State {
        var status = LockStatus(.open)
        var later: LockStatus?
        var fault: LockError?
        var orders: [LockOrder] = []
        var offers: [OfferedKey?] = []
        var kills: [Kill] = []
        var report: KillReport?
        var actors: [String?] = []
        var refused = 0
    }

    private let state = Mutex(State())

    var lockStatus: LockStatus { self.state.withLock { $0.status } }
    var orders: [LockOrder] { self.state.withLock { $0.orders } }
    var offers: [OfferedKey?] { self.state.withLock { $0.offers } }
    var kills: [Kill] { self.state.withLock { $0.kills } }
    /// Who asked, each time.
    var actors: [String?] { self.state.withLock { $0.actors } }

    /// How many wrong admin tokens were noted.
    var refused: Int { self.state.withLock { $0.refused } }

    func refusedToken(from address: String?) async { self.state.withLock { $0.refused += 1 } }

    /// - Parameter later: the status after the next order was answered; `nil` for the same.
    func set(_ status: LockStatus, later: LockStatus? = nil) {
        self.state.withLock { ($0.status, $0.later) = (status, later) }
    }

    func report(_ report: KillReport) { self.state.withLock { $0.report = report } }
    func fail(_ fault: LockError) { self.state.withLock { $0.fault = fault } }

    func lock(_ order: LockOrder, by actor: AuditActor) async throws(LockError) -> LockStatus {
        self.state.withLock { state in
            state.orders.append(order)
            state.actors.append(actor.memo)
        }
        return try self.answer()
    }

    func unlock(_ offered: OfferedKey?, by actor: AuditActor) async throws(LockError) -> LockStatus {
        self.state.withLock { state in
            state.offers.append(offered)
            state.actors.append(actor.memo)
        }
        return try self.answer()
    }

    func kill(
        _ scope: KillScope,
        reason: String,
        streams: KillStreams,
        by actor: AuditActor
    ) async throws(LockError) -> KillReport {
        self.state.withLock { state in
            state.kills.append(Kill(scope: scope, reason: reason, streams: streams))
            state.actors.append(actor.memo)
        }
        _ = try self.answer()
        guard let report = self.state.withLock({ $0.report }) else { throw LockError(.busy, "no report is scripted") }
        return report
    }

    private func answer() throws(LockError) -> LockStatus {
        let (status, fault) = self.state.withLock { state in
            defer { state.status = state.later ?? state.status }
            return (state.status, state.fault)
        }
        if let fault { throw fault }
        return status
    }
}

/// Has the accounts `alice`, approved, and `bob`, which requests wait for.
final class ScriptedApprovals: GatewayApprovals {
    static let end = WallTime(millisecondsSince1970: 1_763_684_100_123)

    private let fault = Mutex<ApprovalRefusal?>(nil)
    private let given = Mutex<[String]>([])

    /// The approved accounts, each with who approved it.
    var approved: [String] { self.given.withLock { $0 } }

    func fail(_ fault: ApprovalRefusal) { self.fault.withLock { $0 = fault } }

    func standings() -> [ApprovalStanding] {
        [
            ApprovalStanding(AccountID("bob"), until: nil, isAwaited: true),
            ApprovalStanding(AccountID("alice"), until: Self.end, isAwaited: false),
        ]
    }

    func approve(_ account: AccountID, by memo: String?) async throws(ApprovalRefusal) -> WallTime {
        if let fault = self.fault.withLock({ $0 }) { throw fault }
        self.given.withLock { $0.append("\(account) by \(memo ?? "nobody")") }
        return Self.end
    }
}
