import HTTPCaching
package import HTTPWire
package import NIOCore
package import TokenModel

/// The gateway's decisions on one event loop: pure reads of tables that the loop owns.
///
/// It is a class because each request refers to it several times, and a copy of a struct would retain each of its
/// parts.
///
/// ``decide(_:from:)`` judges each request once. When the request's upstream connection is ready,
/// ``authorize(_:_:refused:)`` adds the token in the same tick as the write, so its checks hold for the bytes that
/// leave.
package final class Gateway {
    private var callers: CallerTable
    private var table: RouteTable
    /// One slot per account, in the table's order.
    package private(set) var slots: [CredentialSlot]
    /// The index of each account's slot in ``slots``.
    private var places: [AccountID: Int]
    /// Tells which tokens are dead. No slot holds a credential that these epochs declare dead.
    package private(set) var epochs = KillEpochs()
    /// From this moment on no token is added to a request: the store may hold a kill that this process has not read.
    package var leaseEnd = BootInstant.distantFuture
    /// While locked, no slot holds a credential: no token is added to a request, and no stored response is used.
    package private(set) var isLocked = false

    /// - Parameter callers: the callers that may use `table`'s routes; `nil` admits everyone except web pages.
    package init(_ table: RouteTable, callers: CallerTable? = nil) {
        self.callers = callers ?? CallerTable(nil, routes: table)
        self.table = table
        self.slots = table.slots.map { CredentialSlot($0) }
        self.places = Dictionary(uniqueKeysWithValues: table.slots.enumerated().map { ($1.account, $0) })
    }

    /// What to do with a request.
    package enum Decision: Sendable {
        /// The account's slot holds a credential.
        case forward(RouteTable.Match)
        /// The request must wait for a credential.
        case wait(RouteTable.Match)
        /// The gateway is locked, which the request is told.
        case locked(RouteTable.Match)
        case reply(GatewayError)
    }

    /// Judges a request by its head: who sends it, where it goes, and whether that is allowed.
    ///
    /// - Parameter unverified: what the request's connection knows of its caller; it records the authenticated sender.
    package func decide(_ request: RequestHead, from unverified: inout UnverifiedCaller) -> Decision {
        unverified.begins()
        let match: RouteTable.Match
        do throws(GatewayError) {
            let caller = try self.callers.authenticate(request, &unverified)
            unverified.sent(caller)
            match = try self.table.match(request, for: caller)
        } catch {
            return .reply(error)
        }
        guard !match.route.leavesEmptyFirstSegment(of: request, behind: match.prefix) else {
            return .reply(GatewayError(.badRequest, "the path would begin with an empty segment at the upstream"))
        }
        guard !match.route.rewrite.isMistakable(request) else {
            return .reply(GatewayError(.badRequest, "a field name that the upstream may read as the injected field's"))
        }
        guard !self.slots[match.route.slot].hasCredential else { return .forward(match) }
        return self.isLocked ? .locked(match) : .wait(match)
    }

    /// Whether the caller that opened a tunnel by `route` may keep it: its key, certificate or peer identity still
    /// belongs to that caller, and the caller may use a route of the same name, account and upstream. `route` may be
    /// from an older table.
    func stillServes(_ unverified: UnverifiedCaller, by route: Route) -> Bool {
        guard let caller = self.callers.sender(of: unverified) else { return false }
        return self.table.index(of: route).map(caller.mayTunnel) ?? false
    }

    /// Appends the token to `head`, which may then go upstream. Returns `nil` when the credential has been removed or
    /// has expired in the meantime, when the lease or the approval has ended, or when the token is the `refused` one.
    ///
    /// - Parameters:
    ///   - head: must have no other owner, so that its memory can be overwritten after it was sent.
    ///   - refused: the token set that an upstream has rejected for this request; it is not sent again.
    package func authorize(
        _ head: consuming ByteBuffer,
        _ route: Route,
        refused: TokenVersion? = nil
    ) -> AuthorizedHead? {
        let now = BootInstant.now
        guard now < self.leaseEnd,
            let (line, token, origin) = self.slots[route.slot].line(route.line, at: now, unless: refused)
        else { return nil }
        head.writeImmutableBuffer(line)
        return AuthorizedHead(head, token, origin)
    }

    /// Notes that a request has carried a slot's token.
    ///
    /// - Returns: whether this is the first request that carries it.
    package func use(slot: Int) -> Bool {
        self.slots[slot].isUsed ? false : self.slots[slot].use()
    }

    /// Notes that an upstream accepted a slot's token.
    ///
    /// - Returns: whether `token` is still the slot's, and this is the first time.
    package func prove(_ token: TokenVersion, slot: Int) -> Bool {
        self.slots[slot].isProven ? false : self.slots[slot].prove(token)
    }

    /// Puts a credential into its account's slot, or removes it, or notes an approval. While locked it ignores the event.
    package func apply(_ event: CredentialEvent) {
        guard !self.isLocked else { return }
        switch event {
        case .installed(let credential):
            guard let index = self.places[credential.account] else { return }
            _ = self.install(credential, slot: index)
        case .lapsed(let account):
            guard let index = self.places[account] else { return }
            self.slots[index].lapse()
        case .dropped(let account):
            guard let index = self.places[account] else { return }
            self.slots[index].clear()
        // Requests in progress may still use the credential; `clearUnused(but:)` removes it later.
        case .retired: break
        case .approved(let account, let end):
            guard let index = self.places[account] else { return }
            self.slots[index].approve(until: end)
        }
    }

    /// - Returns: whether the credential may be used, as far as kills and the lock say.
    private func install(_ credential: UpstreamCredential, slot: Int) -> Bool {
        guard !self.isLocked, self.epochs.verdict(on: credential) == .live else { return false }
        self.slots[slot].install(credential)
        return true
    }
}

// MARK: - Reloading the configuration

extension Gateway {
    /// Replaces the table by its successor, and the callers that may use its routes.
    ///
    /// - Parameter credentials: the credentials and approvals of all accounts. If an account was out of the
    ///   configuration for a while, the credential in its slot is outdated.
    package func reload(_ table: RouteTable, callers: CallerTable, credentials: CredentialTable) {
        self.table = table
        self.callers = callers
        for (index, slot) in table.slots.enumerated() {
            if index == self.slots.count {
                self.slots.append(CredentialSlot(slot))
                self.places[slot.account] = index
            }
            self.slots[index].prepare(slot, approvedUntil: credentials.approvedUntil(slot.account))
        }
        for slot in Set(table.routes.map(\.slot)) {
            if let credential = credentials[self.slots[slot].account], self.install(credential, slot: slot) {
                continue
            } else if let owner = self.slots[slot].cacheOwner, credentials.serves(owner, of: self.slots[slot].account) {
                // The token has expired, and its grant stands.
                self.slots[slot].lapse()
            } else {
                self.slots[slot].clear()
            }
        }
    }

    /// Removes the credentials from slots that no route uses any more.
    ///
    /// - Parameter busy: returns the slots that requests in progress may still need; called only where there is
    ///   anything to remove.
    package func clearUnused(but busy: () -> Set<Int>) {
        guard self.table.unusedSlots.contains(where: { self.slots[$0].credential != nil }) else { return }
        let busy = busy()
        for slot in self.table.unusedSlots where !busy.contains(slot) { self.slots[slot].clear() }
    }
}

// MARK: - The kill switch

extension Gateway {
    /// Adopts a kill log, unless it is older than the current one, and removes dead credentials from their slots.
    package func fence(_ epochs: KillEpochs) {
        if epochs.last >= self.epochs.last { self.epochs = epochs }
        for slot in self.slots where slot.holdsDead(by: self.epochs) { slot.clear() }
    }

    /// Whether a token that a request carries may still be used.
    package func isLive(_ origin: TokenOrigin, slot: Int) -> Bool {
        self.slots[slot].verdict(on: origin, by: self.epochs) == .live
    }

    /// The authorization whose stored responses may be used; `nil` for none, and where no approval stands.
    func cacheOwner(slot: Int, at now: BootInstant) -> CacheOwner? {
        now < self.slots[slot].approvedUntil ? self.slots[slot].cacheOwner : nil
    }

    /// Whether a stored response may be used now: no kill, removal or new grant has come since, and neither the lease
    /// nor the approval has ended.
    func mayServe(_ owner: CacheOwner, slot: Int) -> Bool {
        let now = BootInstant.now
        return now < self.leaseEnd && now < self.slots[slot].approvedUntil && self.isLive(owner, slot: slot)
    }

    /// Whether a stored response that is being sent may still be used.
    func isLive(_ owner: CacheOwner, slot: Int) -> Bool { self.slots[slot].mayServe(owner, by: self.epochs) }

    /// Whether a request in progress may finish although its token is dead.
    func mayEnd(_ origin: TokenOrigin, slot: Int) -> Bool {
        self.slots[slot].mayEnd(with: origin, by: self.epochs)
    }

    /// Whether a kill forbids any token for a slot's account.
    ///
    /// - Parameter provider: the account's provider; `nil` uses the provider of the slot's last credential.
    package func isKilled(slot: Int, at provider: ProviderID?) -> Bool {
        let account = self.slots[slot].account
        guard let provider = provider ?? self.slots[slot].provider else {
            return self.epochs.isKilled(.all) || self.epochs.isKilled(.account(account))
        }
        return self.epochs.verdict(on: self.epochs.last, of: account, at: provider) == .killed
    }

    /// The lease has ended, so no token is added to requests.
    package var isLeaseOver: Bool { BootInstant.now >= self.leaseEnd }

    /// A slot's credential, if its token may be added to a request now.
    package func usableCredential(slot: Int) -> UpstreamCredential? {
        let now = BootInstant.now
        return now < self.leaseEnd ? self.slots[slot].usableCredential(at: now) : nil
    }

    /// Why no token may be added to a slot's requests now, whichever comes; `nil` where one may.
    package func obstacle(slot: Int) -> CredentialError? {
        let now = BootInstant.now
        guard now < self.leaseEnd else { return .leaseEnded }
        return now < self.slots[slot].approvedUntil ? nil : .approvalEnded
    }

    /// Why a credential that a request waited for can't be used; `nil` where it may be tried.
    package func refusal(of credential: UpstreamCredential) -> CredentialError? {
        if let slot = self.places[credential.account], let obstacle = self.obstacle(slot: slot) { return obstacle }
        return self.epochs.verdict(on: credential) == .killed ? .accountKilled : nil
    }
}

// MARK: - Locking

extension Gateway {
    /// Removes all credentials and approvals, and the authorizations of stored responses. No slot gets any until
    /// ``unlock()``.
    package func lock() {
        self.isLocked = true
        for slot in self.slots {
            slot.clear()
            slot.approve(until: .distantPast)
        }
    }

    package func unlock() { self.isLocked = false }
}

/// A request head that includes its token. Only ``Gateway/authorize(_:_:refused:)`` makes one, and it can be sent only
/// once.
package struct AuthorizedHead: ~Copyable {
    private let bytes: ByteBuffer
    /// The token set that the head carries.
    package let token: TokenVersion
    /// What the kill switch needs to judge that token.
    package let origin: TokenOrigin

    fileprivate init(_ bytes: ByteBuffer, _ token: TokenVersion, _ origin: TokenOrigin) {
        self.bytes = bytes
        self.token = token
        self.origin = origin
    }

    /// The bytes, which must be written in this tick.
    package consuming func open() -> ByteBuffer { self.bytes }
}
