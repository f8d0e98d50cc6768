package import TokenModel
package import TokenStorage

/// Everything that a process knows about one account and its waiters. It hands out credentials and decides when a
/// flight starts.
///
///     nothing known ──ask──▶ flying ──┬─▶ usable ──expired, refused──▶ flying …
///                              ▲      └─▶ blocked ──after a pause, or on request──▶ flying …
///                              └─ the record changed during the flight, and a waiter is still not served
///
/// Every waiter leaves in exactly one place: ``ask(_:as:for:timeout:unless:now:)``, ``land(_:unless:now:)``,
/// ``observe(_:now:)``, ``fallBack(to:from:now:)``, ``replace(_:receipt:isStored:now:)``,
/// ``reload(binding:mints:asksOtherwise:now:)``, ``learn(_:now:)``, ``apply(_:now:)``, ``expire(now:)``, ``cancel(_:)``
/// or ``close()``. At most one flight is in progress.
package struct AccountState<Waiter> {
    struct Waiting {
        let waiter: Waiter
        let request: CredentialRequest
        let deadline: BootInstant
    }

    package let account: AccountID
    /// The provider, issuer and client that the configuration allows the tokens to be sent to.
    package private(set) var binding: AccountRecord.Binding
    /// Whether the account's tokens are minted.
    package private(set) var mints: Bool
    /// The known kills.
    package private(set) var epochs: KillEpochs
    /// The record as this process saw it last; `nil` before the first read.
    package internal(set) var snapshot: RecordSnapshot?
    /// Set while the record can't be decrypted or parsed. Credentials that were handed out before stay valid.
    package internal(set) var unreadable: CredentialError?
    /// Why the last flight brought no tokens; `nil` after a flight that brought some.
    package internal(set) var lastError: CredentialError?
    /// Like ``lastError``, but of the last flight that learned something about the provider or the grant.
    var finding: CredentialError?
    /// Watches another process's claim across all reads, in flights and between them.
    package internal(set) var watch = ClaimWatch()
    /// Limits how often this account is refreshed.
    package var limit = RefreshLimit()

    /// Counts the accepted records. It orders reads, since several of them may get the same clock reading.
    package internal(set) var revision: UInt64 = 0
    /// The entry that the store is last known to have had, and the revision since which this is known. ``snapshot`` may
    /// be newer than this entry while only the journal has the newer one.
    var stored: (entry: AccountVault.Entry?, since: UInt64)?
    /// The revision at which an older record was last accepted because the store had fallen back.
    var fellAt: UInt64 = 0
    var failedAt: BootInstant?
    var flight: RefreshRequest? {
        didSet {
            if self.flight != nil, self.retry == .due { self.retry = .underWay }
            self.awaitsAnswerSince = nil
            if oldValue == nil, self.flight != nil { self.flightWrites = [] }
        }
    }
    /// The versions that the last flight wrote or tried to write. If another process wrote one of them first, the
    /// flight has read that write.
    package var flightWrites: Set<Version> = []
    /// Since when the flight waits for nothing but the provider's response; `nil` if it does not.
    package var awaitsAnswerSince: BootInstant?
    /// Whether a provider that refused the client is tried again after a reload.
    var retry = Retry.no
    var waiting: [WaiterID: Waiting] = [:]
    /// Whether the watch over deadlines runs. It may outlive the waiters for which it began.
    var isWatched = false
    /// The kinds of outage events that operators have already got.
    var reportedOutages: Set<RefreshEvent.Kind> = []
    var refusals = Refusals()
    var announced: UpstreamCredential?
    /// The grant of the last announced credential, after it was announced that its token can't be used.
    var lapsed: GrantID?
    /// The token set that the last request carried.
    var usedTokenVersion: TokenVersion?
    /// The last token set that an upstream responded 401 to, and when this process first learned of it.
    var refusal: (of: TokenVersion, at: BootInstant)?
    /// Since when a known problem prevents the next token set; `nil` if there is none.
    var issueSince: BootInstant?
    /// The jitter drawn for one token set.
    var jitter: (of: TokenVersion, value: Double)?
    /// Why the last flight brought no tokens, if this could not be written into that version of the record.
    var unwritten: (error: CredentialError, version: Version, until: BootInstant)?
    /// The earliest moment of the next background refresh, after a refresh that left the token set unchanged.
    var restsUntil = BootInstant.distantPast
    /// What was known of a member of a family before it came into use; `nil` once its record was read.
    var known: IndexedAccount?
    /// When anything was last asked of the account, or its record last changed.
    var touchedAt: BootInstant?
    /// Set after a request was turned away because more refreshes were due than the provider's rate lets through: since
    /// when, until when the account's turn should have come, and the error. The refresh is made in its turn, whether
    /// somebody asks again or not.
    package internal(set) var turnedAway: (since: BootInstant, until: BootInstant, error: CredentialError)?

    package init(
        account: AccountID,
        binding: AccountRecord.Binding,
        mints: Bool = false,
        epochs: KillEpochs = KillEpochs(),
        known: IndexedAccount? = nil
    ) {
        self.known = known
        self.epochs = epochs
        self.account = account
        self.binding = binding
        self.mints = mints
    }

    /// Applies a new configuration. A flight in progress goes on, and its result is judged by the new configuration.
    ///
    /// Backoffs that the old configuration may have caused end.
    ///
    /// - Parameter asksOtherwise: whether requests to the provider change, for example by another secret or other
    ///   scopes. If the provider refused the client, it is asked again although nobody needs a token.
    /// - Returns: the waiters that can be served, and the event for the credential caches.
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
        self.reportedOutages = []
        self.snapshot?.endPause(mints: mints, now: now)
        return self.serveUsable(now: now)
    }

    /// Applies a binding whose issuer has become known.
    package mutating func learn(_ binding: AccountRecord.Binding, now: BootInstant) -> Landing {
        guard self.binding != binding else { return Landing() }
        self.binding = binding
        return self.serveUsable(now: now)
    }

    /// Applies newly known kills. A flight in progress goes on, and its result is judged by these kills.
    ///
    /// - Returns: the waiters that are told of a kill, and the event for the credential caches.
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

    /// Whether the kill switch is on for the account.
    package var isKilled: Bool {
        self.epochs.verdict(on: self.snapshot?.entry?.record, of: self.account, at: self.binding.provider) == .killed
    }

    /// Whether the account's tokens were taken by a removal, or by a kill that has been lifted since. New tokens must
    /// be imported.
    package var isEmptied: Bool {
        guard !self.mints, let record = self.snapshot?.entry?.record else { return false }
        let verdict = self.epochs.verdict(on: record, of: self.account, at: self.binding.provider)
        return verdict == .dead || verdict == .live && record.tokens == nil && !record.killed.isEmpty
    }

    /// Whether a removal, and not a kill, took the account's last tokens.
    package var isRemoved: Bool {
        self.epochs.invalidation(on: self.snapshot?.entry?.record, of: self.account, at: self.binding.provider)
            .endWithRemoval
    }

    /// Whether nobody needs what this state knows beyond the stored record: nothing happened since `then`, nobody waits,
    /// no refresh is in progress or due by use, and no other process holds a claim.
    func isIdle(since then: BootInstant, now: BootInstant) -> Bool {
        guard self.flight == nil, self.waiting.isEmpty, self.turnedAway == nil, self.retry == .no,
            self.snapshot?.entry?.record.claim == nil, self.touchedAt.map({ $0 <= then }) ?? true
        else { return false }
        let isUsed = self.usedTokenVersion != nil && self.usedTokenVersion == self.snapshot?.tokenVersion
        return !isUsed || self.snapshot?.freshness.isUsable(at: now) != true
    }

    /// How urgent the account's next background refresh is.
    var urgency: Agenda.Urgency {
        if self.turnedAway != nil { return .turnedAway }
        return self.usedTokenVersion != nil && self.usedTokenVersion == self.snapshot?.tokenVersion ? .inUse : .unused
    }

    /// Whether a flight is in progress or about to start.
    package var isFlying: Bool { self.flight != nil }
    /// The number of waiters.
    package var waiterCount: Int { self.waiting.count }
    /// Whether a credential was announced and has not been withdrawn since.
    package var hasAnnouncedCredential: Bool { self.announced != nil }

    /// The result for `request` that needs no waiting; `nil` if there is none.
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
        if let turnedAway, now < turnedAway.until, case .refreshable = availability {
            let wait = max(now.duration(to: turnedAway.until), Self.restAfterRead)
            return .failure(turnedAway.error.with(retryAfter: wait))
        }
        return nil
    }

    /// Serves `waiter` at once, or keeps it until a flight ends.
    ///
    /// - Parameters:
    ///   - timeout: how long callers wait for the provider. A caller that joins a token request in progress waits for
    ///     the rest of that time, and at least for 2 s.
    ///   - obstacle: the error for a waiter that would have to wait when no waiter may be added.
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
        self.touchedAt = now
        let age = self.awaitsAnswerSince?.duration(to: now) ?? .zero
        let wait = max(min(timeout, Self.leastWait), timeout - age)
        self.waiting[id] = Waiting(waiter: waiter, request: request, deadline: now.advanced(by: wait))
        guard self.flight == nil else { return .waits(start: nil, watch: watch) }
        let refresh = self.refresh(of: request, now: now)
        self.flight = refresh
        return .waits(start: refresh, watch: watch)
    }

    /// Records that an upstream accepted this generation's token.
    package mutating func accepted(_ generation: Generation) {
        guard let tokenVersion = self.snapshot?.tokenVersion, tokenVersion.generation == generation else { return }
        self.refusals.proves(tokenVersion)
    }

    /// Records that an upstream refused the token with which a request was replayed after a 401.
    package mutating func refusedAgain(_ tokenVersion: TokenVersion, now: BootInstant) {
        self.noteRefusal(of: tokenVersion, now: now)
        self.refusals.refusedAgain(tokenVersion, now: now)
    }

    /// The moment at which ``expire(now:)`` is due next. `nil` means that nobody waits, and ends the watch over
    /// deadlines.
    package mutating func nextDeadlineOrUnwatched() -> BootInstant? {
        let next = self.waiting.values.map(\.deadline).min()
        self.isWatched = next != nil
        return next
    }

    /// Removes the waiters whose deadline has passed.
    package mutating func expire(now: BootInstant) -> [Served] {
        self.letGo(.waitedTooLong(self.account)) { $0.deadline <= now }
    }

    /// Removes a waiter that no longer waits. The flight goes on.
    package mutating func cancel(_ id: WaiterID) -> Waiter? {
        self.waiting.removeValue(forKey: id)?.waiter
    }

    /// Removes all waiters, since no flight will end any more.
    package mutating func close() -> [Served] {
        self.flight = nil
        return self.letGo(.stopping(self.account)) { _ in true }
    }

    private mutating func letGo(_ error: CredentialError, where isOver: (Waiting) -> Bool) -> [Served] {
        let over = self.waiting.filter { isOver($0.value) }.sorted { $0.key < $1.key }
        for (id, _) in over { self.waiting[id] = nil }
        return over.map { Served(waiter: $0.value.waiter, result: .failure(error)) }
    }

    /// What the record, as last seen, offers for `request`.
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

    /// A record without a usable credential is not read again within this time.
    private static var restAfterRead: Duration { .seconds(1) }
    /// After a failure no flight starts within this time. It would end like the last one: the store is unreachable, or
    /// the provider is held.
    private static var restAfterFailure: Duration { .milliseconds(250) }
    /// A late response may come at any moment.
    private static var leastWait: Duration { .seconds(2) }
}

extension AccountState {
    /// The result of ``ask(_:as:for:timeout:unless:now:)``.
    package enum Answer {
        /// No wait is needed: returns the waiter with its result.
        case now(Waiter, Result<UpstreamCredential, CredentialError>)
        /// The waiter is kept. If `start` is set, the caller must start a flight; if `watch` is set, it must start a
        /// watch over deadlines.
        case waits(start: RefreshRequest?, watch: Bool)
    }

    /// A waiter that leaves, with its result.
    package struct Served {
        package let waiter: Waiter
        package let result: Result<UpstreamCredential, CredentialError>
    }

    /// The effects of a flight's end or of a changed record.
    package struct Landing {
        /// Waiters that leave.
        package var served: [Served] = []
        /// The event for the credential caches, if there is one.
        package var event: CredentialEvent?
        /// The flight to start next, since the record changed during the last one.
        package var start: RefreshRequest?
    }
}

extension AccountState: Sendable where Waiter: Sendable {}
extension AccountState.Waiting: Sendable where Waiter: Sendable {}
extension AccountState.Answer: Sendable where Waiter: Sendable {}
extension AccountState.Served: Sendable where Waiter: Sendable {}
extension AccountState.Landing: Sendable where Waiter: Sendable {}

/// What a waiter waits for.
package enum CredentialRequest: Hashable, Sendable {
    /// A credential. `refused` is the generation that an upstream responded 401 to.
    case credential(refused: Generation?)
    /// A refresh. If it fails, the waiter gets its error, even if there is a valid token.
    case refresh
}

/// Identifies a waiter among those of its account.
package struct WaiterID: Hashable, Comparable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package static func < (left: WaiterID, right: WaiterID) -> Bool { left.rawValue < right.rawValue }
}
