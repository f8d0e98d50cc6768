import KillSwitch
import Synchronization
import TokenModel
import TokenRefresh
import TokenStorage

/// A kill log that a test writes.
final class ScriptedKills: KillReader {
    private struct State {
        var epochs = KillEpochs()
        var isAway = false
        var holdsLease = true
        var reads = 0
        var changed: [AccountID] = []
        var takenAway: [AccountRecord] = []
        var takesNothing = false
        var unrevoked: [AccountID: [ForgottenToken]] = [:]
        var settled: [Secret] = []
        var storedDead = 0
        var imports: [AccountID: FencedLog.Import] = [:]
        var atNextRead: (@Sendable (inout KillEpochs) -> Void)?
        var afterNextRead: (@Sendable (inout KillEpochs) -> Void)?
    }

    private let state: Mutex<State>

    /// Starts at the epoch that the sample records have observed.
    init() {
        var state = State()
        state.epochs.skip(Epoch(7))
        self.state = Mutex(state)
    }

    var holdsLease: Bool {
        get { self.state.withLock { $0.holdsLease } }
        set { self.state.withLock { $0.holdsLease = newValue } }
    }
    /// How often the log was read.
    var readCount: Int { self.state.withLock { $0.reads } }
    /// The accounts whose changes were announced to all replicas, in order.
    var changed: [AccountID] { self.state.withLock { $0.changed } }
    /// The records whose dead tokens were recorded for revocation before they would have been lost.
    var takenAway: [AccountRecord] { self.state.withLock { $0.takenAway } }
    /// How often a caller reported that it had stored dead tokens.
    var storedDeadCount: Int { self.state.withLock { $0.storedDead } }

    func change(_ change: (inout KillEpochs) -> Void) -> KillEpochs {
        self.state.withLock { state in
            change(&state.epochs)
            return state.epochs
        }
    }

    /// Changes the log right before the next read.
    func changeAtNextRead(_ change: @escaping @Sendable (inout KillEpochs) -> Void) {
        self.state.withLock { $0.atNextRead = change }
    }

    /// Changes the log right after the next read.
    func changeAfterNextRead(_ change: @escaping @Sendable (inout KillEpochs) -> Void) {
        self.state.withLock { $0.afterNextRead = change }
    }

    /// Makes later calls fail that record tokens for revocation or ask for recorded ones.
    func takeNothing() { self.state.withLock { $0.takesNothing = true } }

    /// Sets the tokens of an account that are recorded for revocation.
    func keep(_ tokens: [ForgottenToken], of account: AccountID) {
        self.state.withLock { $0.unrevoked[account] = tokens }
    }

    func failReads(_ fails: Bool = true) { self.state.withLock { $0.isAway = fails } }

    func read() async throws(StoreError) -> KillEpochs {
        let epochs: KillEpochs? = self.state.withLock { state in
            state.reads += 1
            guard !state.isAway else { return nil }
            state.atNextRead.take()?(&state.epochs)
            let epochs = state.epochs
            state.afterNextRead.take()?(&state.epochs)
            return epochs
        }
        guard let epochs else { throw StoreError(.unreachable, "the store was taken away") }
        return epochs
    }

    func changed(_ account: AccountID, grant: GrantID?) async throws(StoreError) {
        self.state.withLock { state in
            state.changed.append(account)
            if let grant {
                state.imports[account] = FencedLog.Import(grant: grant, epoch: state.epochs.last.next)
            }
            if grant == nil { state.epochs.raise(.account(account), at: state.epochs.last.next, holds: false) }
        }
    }

    func lastImport(of account: AccountID) -> FencedLog.Import? { self.state.withLock { $0.imports[account] } }

    func storeForRevocation(_ record: AccountRecord, of account: AccountID) async throws(StoreError) {
        let isTaken = self.state.withLock { state in
            guard !state.takesNothing else { return false }
            let verdict = state.epochs.verdict(on: record, of: account, at: record.binding.provider)
            if verdict != .live, record.tokens != nil { state.takenAway.append(record) }
            return true
        }
        if !isTaken { throw StoreError(.unreachable, "the store takes nothing") }
    }

    func storeForRevocation(dropped record: AccountRecord, of account: AccountID) async throws(StoreError) {
        let isTaken = self.state.withLock { state in
            guard !state.takesNothing else { return false }
            state.takenAway.append(record)
            return true
        }
        if !isTaken { throw StoreError(.unreachable, "the store takes nothing") }
    }

    /// The tokens that the last call of ``unrevoked(of:besides:)`` left out.
    var settled: [Secret] { self.state.withLock { $0.settled } }

    func unrevoked(
        of account: AccountID,
        besides settled: [Secret]
    ) async throws(StoreError) -> [ForgottenToken] {
        let tokens: [ForgottenToken]? = self.state.withLock { state in
            state.settled = settled
            return state.takesNothing ? nil : state.unrevoked[account] ?? []
        }
        guard let tokens else { throw StoreError(.unreachable, "the store says nothing") }
        return tokens
    }

    func storedDead(_ account: AccountID) { self.state.withLock { $0.storedDead += 1 } }
}
