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
    private(set) var table: RouteTable
    package let slots = SlotTable()
    /// Tells what stands for an account of a family that has no slot here; `nil` if the account does not exist.
    let member: (AccountID) -> CredentialTable.Standing?
    /// Tells which tokens are dead. No slot holds a credential that these epochs declare dead.
    package private(set) var epochs = KillEpochs()
    /// From this moment on no token is added to a request: the store may hold a kill that this process has not read.
    package var leaseEnd = BootInstant.distantFuture
    /// While locked, no slot holds a credential: no token is added to a request, and no stored response is used.
    package private(set) var isLocked = false

    /// - Parameters:
    ///   - callers: the callers that may use `table`'s routes; `nil` admits everyone except web pages.
    ///   - member: tells what stands for an account of a family, whose events the gateway gets from then on; `nil` if
    ///     the account does not exist.
    package init(
        _ table: RouteTable,
        callers: CallerTable? = nil,
        member: @escaping (AccountID) -> CredentialTable.Standing? = { _ in nil }
    ) {
        self.callers = callers ?? CallerTable(nil, routes: table)
        self.table = table
        self.member = member
        for slot in table.slots { self.slots.append(slot.account, requiresApproval: slot.requiresApproval) }
    }

    /// What to do with a request.
    package enum Decision: Sendable {
        /// The account's slot holds a credential.
        case forward(RouteTable.Match)
        /// The request must wait for a credential.
        case wait(RouteTable.Match)
        /// The gateway is locked, which the request is told.
        case locked(RouteTable.Match)
        /// The gateway is the last that the OPTIONS request may reach.
        case options(RouteTable.Match)
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
            guard !self.table.via.marks(request) else {
                throw GatewayError(
                    .loopDetected,
                    "the request has passed this gateway before: an upstream leads back here"
                )
            }
            match = try self.match(request, for: caller)
        } catch {
            return .reply(error)
        }
        guard !match.route.leavesEmptyFirstSegment(of: request, behind: match.prefix) else {
            return .reply(GatewayError(.badRequest, "the path would begin with an empty segment at the upstream"))
        }
        guard !match.route.rewrite.isMistakable(request) else {
            return .reply(GatewayError(.badRequest, "a field name that the upstream may read as the injected field's"))
        }
        if request.maxForwards == 0 { return .options(match) }
        guard !self.slots[match.slot].hasCredential else { return .forward(match) }
        return self.isLocked ? .locked(match) : .wait(match)
    }

    /// Whether the caller that opened a tunnel by `match` may keep it: its key, certificate or peer identity still
    /// belongs to that caller, and the caller may use a route of the same name, account and upstream. The route may be
    /// from an older table.
    func stillServes(_ unverified: UnverifiedCaller, by match: RouteTable.Match) -> Bool {
        let account = self.account(of: match)
        guard let caller = self.callers.sender(of: unverified),
            let index = self.table.index(of: match.route, serving: account)
        else { return false }
        return caller.mayTunnel(by: index) && caller.may(use: account)
    }

    /// Appends the token to `head`, which may then go upstream. Returns `nil` when the credential has been removed or
    /// has expired in the meantime, when the lease or the approval has ended, or when the token is the `refused` one.
    ///
    /// - Parameters:
    ///   - head: must have no other owner, so that its memory can be overwritten after it was sent.
    ///   - refused: the token set that an upstream has rejected for this request; it is not sent again.
    package func authorize(
        _ head: consuming ByteBuffer,
        _ match: RouteTable.Match,
        refused: TokenVersion? = nil
    ) -> AuthorizedHead? {
        let now = BootInstant.now
        guard now < self.leaseEnd,
            let (line, token, origin) = self.slots[match.slot].line(of: match.route, at: now, unless: refused)
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

    /// Puts a credential into its account's slot, or removes it, or notes an approval. While locked it ignores the event,
    /// as it does for accounts that have no slot: a slot that is made later takes what stands by then.
    package func apply(_ event: CredentialEvent) {
        guard !self.isLocked else { return }
        switch event {
        case .installed(let credential):
            guard let number = self.slots.number(of: credential.account) else { return }
            if self.install(credential, slot: number), self.slots.isLeaving(number),
                self.table.offers(credential.account)
            {
                self.slots.keep(number)
            }
        case .lapsed(let account):
            guard let number = self.slots.number(of: account) else { return }
            self.slots[number].lapse()
        case .dropped(let account):
            guard let number = self.slots.number(of: account) else { return }
            self.clear(number)
        // Requests in progress may still use the credential; `clearUnused(but:)` removes it later.
        case .retired(let account):
            guard let number = self.slots.number(of: account) else { return }
            self.slots.letGo(number)
        case .approved(let account, let end):
            guard let number = self.slots.number(of: account) else { return }
            self.slots[number].approve(until: end)
        }
    }

    /// - Returns: whether the credential may be used, as far as kills and the lock say.
    func install(_ credential: UpstreamCredential, slot: Int) -> Bool {
        guard !self.isLocked, self.epochs.verdict(on: credential) == .live else { return false }
        self.slots[slot].install(credential)
        return true
    }

    /// Removes a credential. A member's slot is of no use without one: it can be made again at any time.
    private func clear(_ slot: Int) {
        self.slots[slot].clear()
        self.slots.letGo(slot)
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
            if index == self.slots.namedCount {
                self.slots.append(slot.account, requiresApproval: slot.requiresApproval)
            }
            self.slots[index].follow(
                requiresApproval: slot.requiresApproval,
                approvedUntil: credentials.approvedUntil(slot.account)
            )
        }
        let unused = Set(table.unusedSlots)
        for number in table.slots.indices where !unused.contains(number) { self.refill(number, from: credentials) }
        for number in self.slots.memberNumbers {
            let account = self.slots[number].account
            self.slots[number].follow(
                requiresApproval: table.requiresApproval(account),
                approvedUntil: credentials.approvedUntil(account)
            )
            if !table.offers(account) {
                self.slots.letGo(number)
            } else if self.slots.isLeaving(number) {
                self.refill(number, from: credentials)
                if self.slots[number].credential != nil { self.slots.keep(number) }
            }
        }
    }

    private func refill(_ number: Int, from credentials: CredentialTable) {
        let account = self.slots[number].account
        if let credential = credentials[account], self.install(credential, slot: number) { return }
        if let owner = self.slots[number].cacheOwner, credentials.serves(owner, of: account) {
            // The token has expired, and its grant stands.
            self.slots[number].lapse()
        } else {
            self.clear(number)
        }
    }

    /// Removes the credentials from slots that no route uses any more, and the slots of members that are not used.
    ///
    /// - Parameter users: returns the slots that requests in progress use; called only where there is anything to
    ///   remove.
    package func clearUnused(but users: () -> SlotUsers) {
        let hasUnused = self.table.unusedSlots.contains { self.slots[$0].credential != nil }
        guard hasUnused || self.slots.hasLeaving else { return }
        let users = users()
        for slot in self.table.unusedSlots where !users.senders.contains(slot) { self.slots[slot].clear() }
        self.slots.removeLeaving(but: users)
    }
}

// MARK: - The kill switch

extension Gateway {
    /// Adopts a kill log, unless it is older than the current one, and removes dead credentials from their slots.
    package func fence(_ epochs: KillEpochs) {
        if epochs.last >= self.epochs.last { self.epochs = epochs }
        for number in self.slots.numbers where self.slots[number].holdsDead(by: self.epochs) {
            self.clear(number)
        }
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
        let slot = self.slots.number(of: credential.account)
        if let slot, let obstacle = self.obstacle(slot: slot) { return obstacle }
        return self.epochs.verdict(on: credential) == .killed ? .accountKilled : nil
    }
}

// MARK: - Locking

extension Gateway {
    /// Removes all credentials and approvals, and the authorizations of stored responses. No slot gets any until
    /// ``unlock()``.
    package func lock() {
        self.isLocked = true
        for number in self.slots.numbers {
            self.clear(number)
            self.slots[number].approve(until: .distantPast)
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
