package import TokenModel
package import TokenStorage

/// All that a process knows of one account and who waits for it: hands out credentials, and says when a flight is to start.
///
///     nothing known ──ask──▶ flying ──┬─▶ usable ──expired, refused──▶ flying …
///                              ▲      └─▶ blocked ──after a rest, or asked to──▶ flying …
///                              └─ the record changed under the flight, and somebody is not served by what is there
///
/// A waiter that goes in comes out in exactly one place: ``ask(_:as:for:timeout:unless:now:)``,
/// ``land(_:unless:now:)``, ``observe(_:now:)``, ``replace(_:receipt:now:)``,
/// ``reload(binding:mints:asksOtherwise:now:)``, ``expire(now:)``, ``cancel(_:)`` or
/// ``close()``. At most one flight is under way.
package struct AccountState<Waiter> {
    struct Waiting {
        let waiter: Waiter
        let request: CredentialRequest
        let deadline: BootInstant
    }

    package let account: AccountID
    /// Whom the configuration lets the tokens go to.
    package private(set) var binding: AccountRecord.Binding
    /// Whether the tokens are minted.
    package private(set) var mints: Bool
    /// The kills that are known.
    package private(set) var epochs: KillEpochs
    /// The record as last seen; `nil` before the first read.
    package internal(set) var snapshot: RecordSnapshot?
    /// Set while the record does not open. Passes that were handed out before stay good.
    package internal(set) var unreadable: CredentialError?
    /// Why the last flight brought no tokens; `nil` after one that did.
    package internal(set) var lastError: CredentialError?
    /// The same of the last flight that found out something of the provider or the grant.
    var finding: CredentialError?
    /// Watches another process's claim over all reads, in flights and between them.
    package internal(set) var watch = ClaimWatch()
    /// Counts this account's refreshes.
    package var limit = RefreshLimit()

    /// Counts the records that were taken in. Reads are put in order by it: a clock may show one time to several.
    package internal(set) var revision: UInt64 = 0
    /// What the store has said last that it has, and since which revision that is known; ``snapshot`` may be ahead of it, where
    /// only the journal has that.
    var stored: (entry: AccountVault.Entry?, since: UInt64)?
    /// The revision at which an older record counted last, since the store had fallen back.
    var fellAt: UInt64 = 0
    var failedAt: BootInstant?
    var flight: RefreshRequest? {
        didSet {
            if self.flight != nil, self.retry == .due { self.retry = .underWay }
            self.awaitsAnswerSince = nil
            if oldValue == nil, self.flight != nil { self.flightWrites = [] }
        }
    }
    /// The versions that the last flight has written, or tried to: where another's write came before, it has read that.
    package var flightWrites: Set<Version> = []
    /// Since when the flight waits for the provider's answer alone.
    package var awaitsAnswerSince: BootInstant?
    /// Of a client that the provider has refused, after a reload.
    var retry = Retry.no
    var waiting: [WaiterID: Waiting] = [:]
    /// A watch over deadlines is on; it may outlive those for whom it began.
    var isWatched = false
    /// What was told of there being no valid token and none to be had.
    var toldOutages: Set<RefreshEvent.Kind> = []
    var refusals = Refusals()
    var announced: UpstreamCredential?
    /// The token set that a request has carried last.
    var usedTokenVersion: TokenVersion?
    /// The last token set that an upstream answered 401 to, and when that was new.
    var refusal: (of: TokenVersion, at: BootInstant)?
    /// Since when something keeps the next token set from coming; `nil` where nothing is known to.
    var issueSince: BootInstant?
    /// Drawn for one token set.
    var jitter: (of: TokenVersion, value: Double)?
    /// Why the last flight brought no tokens, in this version of the record, which does not say so.
    var unwritten: (error: CredentialError, version: Version, until: BootInstant)?
    /// No refresh in the background before this: the last one left the token set as it was.
    var restsUntil = BootInstant.distantPast

    package init(
        account: AccountID,
        binding: AccountRecord.Binding,
        mints: Bool = false,
        epochs: KillEpochs = KillEpochs()
    ) {
        self.epochs = epochs
        self.account = account
        self.binding = binding
        self.mints = mints
    }

    /// Goes by what the configuration says now. A flight under way goes on, and what it brings is judged by this.
    ///
    /// What was given up for a while is tried again, since the configuration may have been the reason.
    ///
    /// - Parameter asksOtherwise: the provider is asked by something else, such as another secret or other scopes: where the
    ///   client was refused, that is tried although nobody needs a token.
    /// - Returns: whom that serves, and what the slots are to be told.
    package mutating func reload(
        binding: AccountRecord.Binding,
        mints: Bool,
        asksOtherwise: Bool = false,
        now: BootInstant
    ) -> Landing {
        self.binding = binding
        self.mints = mints
        if asksOtherwise, self.isClientRefused(at: now) { self.retry = .due }
        self.restsUntil = .distantPast
        self.unwritten = nil
        self.failedAt = nil
        self.toldOutages = []
        self.snapshot?.endPause(mints: mints, now: now)
        return self.serveUsable(now: now)
    }

    /// Goes by what is known by now of whom the configuration lets the tokens go to.
    package mutating func learn(_ binding: AccountRecord.Binding, now: BootInstant) -> Landing {
        guard self.binding != binding else { return Landing() }
        self.binding = binding
        return self.serveUsable(now: now)
    }

    /// Goes by the kills that are known now. A flight under way goes on, and what it brings is judged by this.
    ///
    /// - Returns: who of those that wait is told of a kill, and what the slots are to be told.
    package mutating func apply(_ epochs: KillEpochs, now: BootInstant) -> Landing {
        self.epochs = epochs
        var landing = self.serveUsable(now: now)
        for (id, waiting) in self.waiting.sorted(by: { $0.key < $1.key }) {
            guard case .blocked(let error) = self.availability(for: waiting.request, now: now), error.code == .killed
            else { continue }
            self.waiting[id] = nil
            landing.served.append(Served(waiter: waiting.waiter, result: .failure(error)))
        }
        return landing
    }

    /// Whether the kill switch holds for the account.
    package var isKilled: Bool {
        self.epochs.verdict(on: self.snapshot?.entry?.record, of: self.account, at: self.binding.provider) == .killed
    }

    /// Whether a kill took the account's tokens and was lifted since, or a removal took them: others must be imported.
    package var isEmptied: Bool {
        guard !self.mints, let record = self.snapshot?.entry?.record else { return false }
        let verdict = self.epochs.verdict(on: record, of: self.account, at: self.binding.provider)
        return verdict == .dead || verdict == .live && record.tokens == nil && !record.killed.isEmpty
    }

    /// Whether it was a removal that took the account's last tokens, and no kill.
    package var isRemoved: Bool {
        self.epochs.invalidation(on: self.snapshot?.entry?.record, of: self.account, at: self.binding.provider)
            .endWithRemoval
    }

    /// Whether a flight is under way, or about to be.
    package var isFlying: Bool { self.flight != nil }
    /// How many wait here.
    package var waiterCount: Int { self.waiting.count }
    /// Whether a credential was announced and not withdrawn since.
    package var hasAnnouncedCredential: Bool { self.announced != nil }

    /// What can be said to `request` without waiting, if anything.
    package mutating func resolve(_ request: CredentialRequest, now: BootInstant) -> Result<
        UpstreamCredential, CredentialError
    >? {
        self.noteRefusal(in: request, now: now)
        guard case .credential = request else { return nil }
        let availability = self.availability(for: request, now: now)
        if case .usable(let credential) = availability { return .success(credential) }
        guard self.flight == nil else { return nil }
        if case .blocked(let error) = availability, let snapshot, snapshot.readAt.duration(to: now) < Self.restAfterRead
        {
            return .failure(error)
        }
        if let lastError, let failedAt, failedAt.duration(to: now) < Self.restAfterFailure {
            return .failure(lastError)
        }
        return nil
    }

    /// Serves `waiter` at once, or keeps it until a flight ends.
    ///
    /// - Parameters:
    ///   - timeout: how long callers wait for the provider. Who joins a token request that is under way waits for what is left
    ///     of that, and for 2 s at least.
    ///   - obstacle: the error for whoever would have to wait, where nobody may any more.
    package mutating func ask(
        _ waiter: Waiter,
        as id: WaiterID,
        for request: CredentialRequest,
        timeout: Duration,
        unless obstacle: CredentialError? = nil,
        now: BootInstant
    ) -> Answer {
        if let result = self.resolve(request, now: now) { return .now(waiter, result) }
        if let obstacle { return .now(waiter, .failure(obstacle)) }
        let watch = !self.isWatched
        self.isWatched = true
        let age = self.awaitsAnswerSince?.duration(to: now) ?? .zero
        let wait = max(min(timeout, Self.leastWait), timeout - age)
        self.waiting[id] = Waiting(waiter: waiter, request: request, deadline: now.advanced(by: wait))
        guard self.flight == nil else { return .waits(start: nil, watch: watch) }
        let refresh = self.refresh(of: request, now: now)
        self.flight = refresh
        return .waits(start: refresh, watch: watch)
    }

    /// An upstream took this generation's token.
    package mutating func accepted(_ generation: Generation) {
        guard let tokenVersion = self.snapshot?.tokenVersion, tokenVersion.generation == generation else { return }
        self.refusals.proves(tokenVersion)
    }

    /// An upstream refused the token with which a request was sent again after a 401.
    package mutating func refusedAgain(_ tokenVersion: TokenVersion, now: BootInstant) {
        self.noteRefusal(of: tokenVersion, now: now)
        self.refusals.refusedAgain(tokenVersion, now: now)
    }

    /// When ``expire(now:)`` is due next; `nil` ends the watch over deadlines, since nobody waits.
    package mutating func nextDeadlineOrUnwatched() -> BootInstant? {
        let next = self.waiting.values.map(\.deadline).min()
        self.isWatched = next != nil
        return next
    }

    /// Lets go of those whose time is over.
    package mutating func expire(now: BootInstant) -> [Served] {
        self.letGo(.waitedTooLong(self.account)) { $0.deadline <= now }
    }

    /// Lets go of one that no longer waits; the flight goes on.
    package mutating func cancel(_ id: WaiterID) -> Waiter? {
        self.waiting.removeValue(forKey: id)?.waiter
    }

    /// Lets go of all: no flight will land any more.
    package mutating func close() -> [Served] {
        self.flight = nil
        return self.letGo(.stopping(self.account)) { _ in true }
    }

    private mutating func letGo(_ error: CredentialError, where isOver: (Waiting) -> Bool) -> [Served] {
        let over = self.waiting.filter { isOver($0.value) }.sorted { $0.key < $1.key }
        for (id, _) in over { self.waiting[id] = nil }
        return over.map { Served(waiter: $0.value.waiter, result: .failure(error)) }
    }

    /// What the record, as last seen, holds for `request`.
    mutating func availability(for request: CredentialRequest, now: BootInstant) -> Availability {
        guard let snapshot else { return self.isKilled ? .blocked(.killed(self.account)) : .refreshable }
        return snapshot.availability(
            of: self.account,
            bound: self.binding,
            mints: self.mints,
            under: self.epochs,
            for: self.refresh(of: request, now: now),
            at: now
        )
    }

    mutating func refresh(of request: CredentialRequest, now: BootInstant) -> RefreshRequest {
        switch request {
        case .refresh: return .forced
        case .credential(refused: nil): return .usable
        case .credential(refused: let generation?):
            guard let tokenVersion = self.snapshot?.tokenVersion, tokenVersion.generation == generation else {
                return .usable
            }
            return self.refusals.mayRefresh(tokenVersion, now: now) ? RefreshRequest(refused: tokenVersion) : .usable
        }
    }

    /// A record that says "no" is not read again within this time.
    private static var restAfterRead: Duration { .seconds(1) }
    /// Nor is a flight started that would end as the last one did: the store is away, the provider held.
    private static var restAfterFailure: Duration { .milliseconds(250) }
    /// An answer that is late may come at any moment.
    private static var leastWait: Duration { .seconds(2) }
}

extension AccountState {
    /// What ``ask(_:as:for:timeout:unless:now:)`` leads to.
    package enum Answer {
        /// No waiting: here is the waiter back with its result.
        case now(Waiter, Result<UpstreamCredential, CredentialError>)
        /// The waiter is kept. A flight is to start where a demand is given, and a watch over deadlines if none is on.
        case waits(start: RefreshRequest?, watch: Bool)
    }

    /// A waiter that leaves, with its result.
    package struct Served {
        package let waiter: Waiter
        package let result: Result<UpstreamCredential, CredentialError>
    }

    /// What follows from a flight's end, or from a changed record.
    package struct Landing {
        /// Waiters that leave.
        package var served: [Served] = []
        /// What the slots are to be told, if anything.
        package var event: CredentialEvent?
        /// Start another flight: the record changed under the last one.
        package var start: RefreshRequest?
    }
}

extension AccountState: Sendable where Waiter: Sendable {}
extension AccountState.Waiting: Sendable where Waiter: Sendable {}
extension AccountState.Answer: Sendable where Waiter: Sendable {}
extension AccountState.Served: Sendable where Waiter: Sendable {}
extension AccountState.Landing: Sendable where Waiter: Sendable {}
