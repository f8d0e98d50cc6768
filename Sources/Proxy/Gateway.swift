package import HTTPWire
package import NIOCore
package import TokenModel

/// The gateway's decisions on one event loop: pure reads of tables that the loop owns. An object, since each request takes
/// hold of it several times, and its parts are many.
///
/// A request comes to ``decide(_:from:)`` once. When its upstream connection is ready, ``authorize(_:_:refused:)`` puts the token in,
/// in the same tick as the write: what is checked there holds for the bytes that leave.
package final class Gateway {
    private var callers: CallerTable
    private var table: RouteTable
    /// One per account, in the table's order.
    package private(set) var slots: [CredentialSlot]
    /// Where each account's slot is.
    private var places: [AccountID: Int]
    /// Which tokens are dead. No slot holds a credential that is dead by it.
    package private(set) var epochs = KillEpochs()
    /// From this moment on no token is put in: the store may hold a kill that nobody here has read.
    package var leaseEnd = BootInstant.distantFuture

    /// - Parameter callers: those whom `table`'s routes are for; `nil` lets in anyone but web pages.
    package init(_ table: RouteTable, callers: CallerTable? = nil) {
        self.callers = callers ?? CallerTable(nil, routes: table)
        self.table = table
        self.slots = table.slots.map { CredentialSlot(account: $0.account, injections: $0.injections) }
        self.places = Dictionary(uniqueKeysWithValues: table.slots.enumerated().map { ($1.account, $0) })
    }

    /// What is to be done with a request.
    package enum Decision: Sendable {
        /// The account's credential is there.
        case forward(RouteTable.Match)
        /// The request must wait for a credential.
        case wait(RouteTable.Match)
        case reply(GatewayError)
    }

    /// Judges a request by its head: who sends it, where it goes, and whether it may.
    ///
    /// - Parameter unverified: the connection that it came by.
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
        return self.slots[match.route.slot].hasCredential ? .forward(match) : .wait(match)
    }

    /// Whether whoever has opened a tunnel by `route`, a route of this table or of one before it, may still use it: it is
    /// known by what it proved itself by, and there is such a route for it, to the same upstream.
    func stillServes(_ unverified: UnverifiedCaller, by route: Route) -> Bool {
        guard let caller = self.callers.sender(of: unverified) else { return false }
        return self.table.index(of: route).map(caller.mayTunnel) ?? false
    }

    /// Puts the token behind `head`, which may go upstream then; or `nil` when the credential has gone or ended in the meantime,
    /// or the lease has.
    ///
    /// - Parameters:
    ///   - head: nobody else may have it, so that its memory can be overwritten when it has gone.
    ///   - refused: the token set that an upstream has refused this request with: it does not go again.
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

    /// A request has carried a slot's token.
    ///
    /// - Returns: whether that is news.
    package func use(slot: Int) -> Bool {
        self.slots[slot].isUsed ? false : self.slots[slot].use()
    }

    /// An upstream took a slot's token.
    ///
    /// - Returns: whether that is news.
    package func prove(_ token: TokenVersion, slot: Int) -> Bool {
        self.slots[slot].isProven ? false : self.slots[slot].prove(token)
    }

    /// Puts a credential into its account's slot, or takes it out.
    package func apply(_ event: CredentialEvent) {
        switch event {
        case .installed(let credential):
            guard let index = self.places[credential.account], self.epochs.verdict(on: credential) == .live else {
                return
            }
            self.slots[index].install(credential)
        case .dropped(let account):
            guard let index = self.places[account] else { return }
            self.slots[index].clear()
        // Whoever is under way may still use it; `clearUnused(but:)` ends that.
        case .retired: break
        }
    }
}

// MARK: - Reading the configuration again

extension Gateway {
    /// Takes up a table that follows the one there is, and those who may use its routes.
    ///
    /// - Parameter passes: of all accounts. What a slot holds whose account was out of the configuration for a while is
    ///   not the account's any more.
    package func reload(_ table: RouteTable, callers: CallerTable, credentials: CredentialTable) {
        self.table = table
        self.callers = callers
        for (index, slot) in table.slots.enumerated() {
            if index == self.slots.count {
                self.slots.append(CredentialSlot(account: slot.account, injections: slot.injections))
                self.places[slot.account] = index
            } else {
                self.slots[index].prepare(slot.injections)
            }
        }
        for slot in Set(table.routes.map(\.slot)) {
            if let credential = credentials[self.slots[slot].account], self.epochs.verdict(on: credential) == .live {
                self.slots[slot].install(credential)
            } else {
                self.slots[slot].clear()
            }
        }
    }

    /// Takes the credentials out of slots that no route uses any more.
    ///
    /// - Parameter busy: gives the slots that requests under way may still need; called only where there is anything to
    ///   take out.
    package func clearUnused(but busy: () -> Set<Int>) {
        guard self.table.unusedSlots.contains(where: { self.slots[$0].credential != nil }) else { return }
        let busy = busy()
        for slot in self.table.unusedSlots where !busy.contains(slot) { self.slots[slot].clear() }
    }
}

// MARK: - The kill switch

extension Gateway {
    /// Goes by a kill log from now on, unless that is an older one: dead credentials leave their slots.
    package func fence(_ epochs: KillEpochs) {
        if epochs.last >= self.epochs.last { self.epochs = epochs }
        for index in self.slots.indices {
            guard let credential = self.slots[index].credential, self.epochs.verdict(on: credential) != .live else {
                continue
            }
            self.slots[index].clear()
        }
    }

    /// Whether a token that a request carries may still be used.
    package func isLive(_ origin: TokenOrigin, slot: Int) -> Bool {
        self.slots[slot].verdict(on: origin, by: self.epochs) == .live
    }

    /// Whether a request under way whose token is dead may go on to its end.
    func mayEnd(_ origin: TokenOrigin, slot: Int) -> Bool {
        self.slots[slot].mayEnd(with: origin, by: self.epochs)
    }

    /// Whether no token may come for a slot's account.
    ///
    /// - Parameter provider: the account's; `nil` takes that of its last pass.
    package func isKilled(slot: Int, at provider: ProviderID?) -> Bool {
        let account = self.slots[slot].account
        guard let provider = provider ?? self.slots[slot].provider else {
            return self.epochs.isKilled(.all) || self.epochs.isKilled(.account(account))
        }
        return self.epochs.verdict(on: self.epochs.last, of: account, at: provider) == .killed
    }

    /// No token is put in.
    package var isLeaseOver: Bool { BootInstant.now >= self.leaseEnd }

    /// A slot's pass, if its token may be put in now.
    package func usableCredential(slot: Int) -> UpstreamCredential? {
        let now = BootInstant.now
        return now < self.leaseEnd ? self.slots[slot].usableCredential(at: now) : nil
    }

    /// Why a credential that was waited for is of no use; `nil` where it may be tried.
    package func refusal(of credential: UpstreamCredential) -> CredentialError? {
        if self.isLeaseOver { return .leaseEnded }
        return self.epochs.verdict(on: credential) == .killed ? .accountKilled : nil
    }
}

/// A request head with its token in. It can be made only by ``Gateway/authorize(_:_:refused:)`` and sent only once.
package struct AuthorizedHead: ~Copyable {
    private let bytes: ByteBuffer
    /// Which token set it carries.
    package let token: TokenVersion
    /// What the kill switch asks of that.
    package let origin: TokenOrigin

    fileprivate init(_ bytes: ByteBuffer, _ token: TokenVersion, _ origin: TokenOrigin) {
        self.bytes = bytes
        self.token = token
        self.origin = origin
    }

    /// The bytes to write, in this tick.
    package consuming func open() -> ByteBuffer { self.bytes }
}
