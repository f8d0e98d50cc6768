import HTTPWire
import NIOCore
import Proxy
import SystemSupport
import Testing
import TokenModel

/// An event loop's tables and the accounts of a family.
@Suite struct FamilyTests {
    private static let later = BootInstant.now.advanced(by: .seconds(600))
    private static let alive = CredentialTable.Standing(credential: .sample(7, account: Families.first))

    private let book = MemberBook()

    private static let route = RouteConfiguration.sample(port: 1) {
        $0.account = .chosen(Families.customers + [.name(Rig.account)])
    }

    private static func callers(_ accounts: [AccountPattern]? = nil, for table: RouteTable) -> CallerTable {
        CallerTable([CallerConfiguration(name: "me", peer: PeerRule(user: 1), accounts: accounts)], routes: table)
    }

    /// - Parameter accounts: of the caller; `nil` for all.
    private func gateway(_ table: RouteTable = RouteTable([Self.route]), accounts: [AccountPattern]? = nil) -> Gateway {
        let book = self.book
        return Gateway(table, callers: Self.callers(accounts, for: table)) { book.ask($0) }
    }

    private func reload(
        _ gateway: Gateway,
        _ table: RouteTable,
        accounts: [AccountPattern]? = nil,
        credentials: CredentialTable = CredentialTable()
    ) {
        gateway.reload(table, callers: Self.callers(accounts, for: table), credentials: credentials)
    }

    private func error(_ gateway: Gateway, _ name: String) -> GatewayError? {
        do {
            _ = try gateway.match("Martlet-Account: \(name)\r\n", at: "/acme/")
            return nil
        } catch {
            return error as? GatewayError
        }
    }

    private func sent(_ gateway: Gateway, _ match: RouteTable.Match) -> String? {
        let bytes = ByteBuffer()
        guard let head = gateway.authorize(bytes, match) else { return nil }
        return String(buffer: head.open())
    }

    // MARK: - The first use

    @Test func `the first request takes the token that stands, and later ones ask nobody`() throws {
        self.book.standing[Families.first] = Self.alive
        let gateway = self.gateway()
        #expect(gateway.slots.memberCount == 0)
        for _ in 1...3 {
            let match = try gateway.match(Families.field(), at: "/acme/")
            #expect(gateway.account(of: match) == Families.first)
            #expect(self.sent(gateway, match) == "Authorization: Bearer token-7\r\n\r\n")
        }
        #expect(self.book.asked == [Families.first])
        #expect(gateway.slots.memberCount == 1)
        // Every later event reaches the slot.
        gateway.apply(.installed(.sample(8, account: Families.first)))
        let match = try gateway.match(Families.field(), at: "/acme/")
        #expect(self.sent(gateway, match)?.contains("token-8") == true)
    }

    @Test func `each route injects its own line with a member's token`() throws {
        self.book.standing[Families.first] = Self.alive
        let keyed = RouteConfiguration.sample(port: 1) { plan in
            plan.name = "keyed"
            plan.path = "/keyed/"
            plan.account = .chosen(Families.customers)
            plan.injection = Injection(header: "X-Key", prefix: "")
        }
        let gateway = self.gateway(RouteTable([Self.route, keyed]))
        for (path, line) in [("/keyed/", "X-Key: token-7"), ("/acme/", "Authorization: Bearer token-7")] {
            let match = try gateway.match(Families.field(), at: path)
            #expect(self.sent(gateway, match) == "\(line)\r\n\r\n")
        }
        #expect(gateway.slots.memberCount == 1)
    }

    @Test func `an account that does not exist gets account_empty and no slot, however many names are tried`() {
        let gateway = self.gateway()
        for number in 0..<5_000 {
            let error = self.error(gateway, "customer-\(number)")
            #expect(error?.code == .accountEmpty)
            #expect(error?.account == AccountID("customer-\(number)") && error?.route == "acme")
        }
        #expect(gateway.slots.memberCount == 0)
        #expect(self.book.asked.count == 5_000)
    }

    @Test(arguments: [
        "customer-", "customer", "Customer-1", "customer-1/", "customer-a b", "other-1", "*",
        "customer-*", "customer-" + String(repeating: "9", count: 120),
    ])
    func `a name of no family is forbidden, and nobody is asked whether it exists`(name: String) {
        self.book.standing[AccountID(name)] = Self.alive
        let gateway = self.gateway()
        #expect(self.error(gateway, name)?.code == .callerForbidden)
        #expect(self.book.asked.isEmpty && gateway.slots.memberCount == 0)
    }

    @Test(arguments: [
        (["customer-*"], "customer-1", true), (["cust*"], "customer-1", true), (["customer-1"], "customer-1", true),
        (["customer-1"], "customer-11", false), (["customer-1*"], "customer-12", true),
        (["customer-2*", "alice"], "customer-1", false), (["alice"], "customer-1", false), ([], "customer-1", false),
        (["customer-*"], "alice", false), (["a*"], "alice", true),
    ])
    func `a caller reaches what its patterns cover, whether the account exists or not`(
        patterns: [String],
        name: String,
        isCovered: Bool
    ) {
        for exists in [true, false] {
            self.book.standing[Families.first] = exists ? Self.alive : nil
            self.book.standing[AccountID("customer-12")] = exists ? CredentialTable.Standing() : nil
            self.book.standing[AccountID("customer-11")] = exists ? CredentialTable.Standing() : nil
            let accounts = patterns.flatMap { Families.patterns($0) }
            // Whether somebody else's request has made a slot makes no difference either.
            for gateway in [self.gateway(accounts: accounts), self.usedGateway(name, accounts)] {
                let error = self.error(gateway, name)?.code
                let found: GatewayError.Code? = exists || name == "alice" ? nil : .accountEmpty
                #expect(error == (isCovered ? found : .callerForbidden))
            }
        }
    }

    /// A gateway after a request of a caller that may use everything.
    private func usedGateway(_ name: String, _ accounts: [AccountPattern]) -> Gateway {
        let table = RouteTable([Self.route])
        let gateway = self.gateway(table)
        _ = self.error(gateway, name)
        self.reload(gateway, table, accounts: accounts)
        return gateway
    }

    // MARK: - The end

    @Test func `a slot without a credential goes as soon as no request waits with it`() throws {
        self.book.standing[Families.first] = CredentialTable.Standing()
        let gateway = self.gateway()
        let match = try gateway.match(Families.field(), at: "/acme/")
        gateway.clearUnused { SlotUsers(senders: [match.slot]) }
        #expect(gateway.slots.memberCount == 1)
        gateway.clearUnused { SlotUsers() }
        #expect(gateway.slots.memberCount == 0)
    }

    @Test func `a slot that got its credential stays until the engine lets the account go`() throws {
        self.book.standing[Families.first] = CredentialTable.Standing()
        let gateway = self.gateway()
        _ = try gateway.match(Families.field(), at: "/acme/")
        gateway.apply(.installed(.sample(account: Families.first)))
        gateway.clearUnused { SlotUsers() }
        gateway.apply(.lapsed(Families.first))
        gateway.clearUnused { SlotUsers() }
        #expect(gateway.slots.memberCount == 1)
        gateway.apply(.retired(Families.first))
        gateway.clearUnused { SlotUsers() }
        #expect(gateway.slots.memberCount == 0)
    }

    @Test func `a request in progress keeps the token of an account that was let go, and a tunnel does not`() throws {
        self.book.standing[Families.first] = Self.alive
        let gateway = self.gateway()
        let match = try gateway.match(Families.field(), at: "/acme/")
        let bytes = ByteBuffer()
        let head = gateway.authorize(bytes, match)?.origin
        let origin = try #require(head)
        gateway.apply(.retired(Families.first))
        gateway.clearUnused { SlotUsers(senders: [match.slot]) }
        #expect(self.sent(gateway, match) != nil)
        // A tunnel still tells the provider of the token that opened it.
        gateway.clearUnused { SlotUsers(holders: [match.slot]) }
        #expect(self.sent(gateway, match) == nil)
        #expect(gateway.isLive(origin, slot: match.slot))
        gateway.fence(.kill(.provider(ProviderID("acme"))))
        #expect(!gateway.isLive(origin, slot: match.slot))
    }

    @Test func `an account that is used again while its slot is let go keeps it`() throws {
        self.book.standing[Families.first] = Self.alive
        let gateway = self.gateway()
        let match = try gateway.match(Families.field(), at: "/acme/")
        gateway.apply(.retired(Families.first))
        gateway.apply(.installed(.sample(8, account: Families.first)))
        gateway.clearUnused { SlotUsers() }
        #expect(gateway.slots.contains(match.slot))
        #expect(self.sent(gateway, match)?.contains("token-8") == true)
    }

    @Test(arguments: [CredentialEvent.dropped(Families.first), .retired(Families.first)])
    func `an account that is gone does not exist at the next request`(event: CredentialEvent) throws {
        self.book.standing[Families.first] = Self.alive
        let gateway = self.gateway()
        _ = try gateway.match(Families.field(), at: "/acme/")
        self.book.standing = [:]
        gateway.apply(event)
        gateway.clearUnused { SlotUsers() }
        #expect(self.error(gateway, "customer-1")?.code == .accountEmpty)
    }

    // MARK: - Kills and the lock

    @Test(arguments: [.all, .provider(ProviderID("acme")), .account(Families.first)] as [KillScope])
    func `I3_ a kill takes the token of an account of a family, and no older one comes back`(scope: KillScope) throws {
        self.book.standing[Families.first] = Self.alive
        let gateway = self.gateway()
        let match = try gateway.match(Families.field(), at: "/acme/")
        gateway.fence(.kill(scope, holds: false))
        #expect(self.sent(gateway, match) == nil)
        gateway.clearUnused { SlotUsers() }
        #expect(gateway.slots.memberCount == 0)
        // When the shared table has not heard of the kill yet
        let again = try gateway.match(Families.field(), at: "/acme/")
        #expect(self.sent(gateway, again) == nil)
        gateway.apply(.installed(.sample(9, account: Families.first, observedEpoch: Epoch(1))))
        #expect(self.sent(gateway, again)?.contains("token-9") == true)
    }

    @Test func `I3_ a kill of an account that has no slot covers the slot that it gets`() throws {
        self.book.standing[Families.first] = Self.alive
        self.book.standing[Families.second] = .init(credential: .sample(8, account: Families.second))
        let gateway = self.gateway()
        gateway.fence(.kill(.account(Families.first)))
        let killed = try gateway.match(Families.field(), at: "/acme/")
        #expect(self.sent(gateway, killed) == nil)
        #expect(gateway.isKilled(slot: killed.slot, at: nil))
        let other = try gateway.match(Families.field(Families.second), at: "/acme/")
        #expect(self.sent(gateway, other) != nil)
    }

    @Test func `a locked gateway asks nobody, and says that it is locked`() throws {
        self.book.standing[Families.first] = Self.alive
        let gateway = self.gateway()
        let match = try gateway.match(Families.field(), at: "/acme/")
        gateway.lock()
        #expect(self.sent(gateway, match) == nil)
        gateway.clearUnused { SlotUsers() }
        for name in ["customer-1", "customer-2"] {
            let error = self.error(gateway, name)
            #expect(error?.code == .locked)
            #expect(error?.account == AccountID(name) && error?.route == "acme")
        }
        #expect(self.error(gateway, "other-1")?.code == .callerForbidden)
        #expect(self.book.asked.count == 1 && gateway.slots.memberCount == 0)
        gateway.unlock()
        #expect(try self.sent(gateway, gateway.match(Families.field(), at: "/acme/")) != nil)
    }

    @Test func `an account that requires an approval takes the one that stands`() throws {
        let table = RouteTable([Self.route], requiresApproval: { Families.customers[0].covers($0) })
        self.book.standing[Families.first] = .init(
            credential: .sample(account: Families.first),
            approvedUntil: Self.later
        )
        self.book.standing[Families.second] = .init(credential: .sample(account: Families.second))
        let gateway = self.gateway(table)
        let approved = try gateway.match(Families.field(), at: "/acme/")
        let other = try gateway.match(Families.field(Families.second), at: "/acme/")
        #expect(self.sent(gateway, approved) != nil)
        #expect(self.sent(gateway, other) == nil)
        gateway.apply(.approved(Families.second, until: Self.later))
        #expect(self.sent(gateway, other) != nil)
    }

    // MARK: - Reloads

    @Test func `a family that leaves the configuration is forbidden, and ends with its last request`() throws {
        self.book.standing[Families.first] = Self.alive
        let old = RouteTable([Self.route])
        let gateway = self.gateway(old)
        let match = try gateway.match(Families.field(), at: "/acme/")
        let table = RouteTable(
            [.sample(port: 1) { $0.account = .chosen([.name(Rig.account)]) }],
            following: old
        )
        self.reload(gateway, table)
        #expect(self.error(gateway, "customer-1")?.code == .callerForbidden)
        gateway.clearUnused { SlotUsers(senders: [match.slot]) }
        #expect(self.sent(gateway, match) != nil)
        // A refresh on the way does not keep it.
        gateway.apply(.installed(.sample(8, account: Families.first)))
        #expect(self.sent(gateway, match)?.contains("token-8") == true)
        gateway.clearUnused { SlotUsers() }
        #expect(gateway.slots.memberCount == 0)
    }

    @Test(arguments: [true, false])
    func `a family that comes back does not find its old credentials`(isInTable: Bool) throws {
        self.book.standing[Families.first] = Self.alive
        let old = RouteTable([Self.route])
        let gateway = self.gateway(old)
        let match = try gateway.match(Families.field(), at: "/acme/")
        let without = RouteTable([.sample(port: 1)], following: old)
        self.reload(gateway, without)
        var credentials = CredentialTable()
        if isInTable { credentials.apply(.installed(.sample(9, account: Families.first))) }
        self.reload(gateway, RouteTable([Self.route], following: without), credentials: credentials)
        #expect(self.sent(gateway, match) == (isInTable ? "Authorization: Bearer token-9\r\n\r\n" : nil))
        gateway.clearUnused { SlotUsers() }
        #expect(gateway.slots.memberCount == (isInTable ? 1 : 0))
    }

    @Test func `a reload begins and ends the need of an approval`() throws {
        self.book.standing[Families.first] = Self.alive
        let open = RouteTable([Self.route])
        let strict = RouteTable([Self.route], requiresApproval: { _ in true }, following: open)
        let gateway = self.gateway(open)
        let match = try gateway.match(Families.field(), at: "/acme/")
        var credentials = CredentialTable()
        self.reload(gateway, strict, credentials: credentials)
        #expect(self.sent(gateway, match) == nil)
        credentials.apply(.approved(Families.first, until: Self.later))
        self.reload(gateway, strict, credentials: credentials)
        #expect(self.sent(gateway, match) != nil)
        self.reload(gateway, RouteTable([Self.route], following: strict))
        #expect(self.sent(gateway, match) != nil)
    }

    @Test func `an account that the configuration names from now on serves the request that is in progress`() throws {
        self.book.standing[Families.first] = CredentialTable.Standing()
        let old = RouteTable([Self.route])
        let gateway = self.gateway(old)
        let waiting = try gateway.match(Families.field(), at: "/acme/")
        let table = RouteTable(
            [.sample(port: 1) { $0.account = .chosen(Families.patterns("customer-*", "customer-1")) }],
            following: old
        )
        self.reload(gateway, table)
        gateway.apply(.installed(.sample(3, account: Families.first)))
        #expect(self.sent(gateway, waiting)?.contains("token-3") == true)
        let named = try gateway.match(Families.field(), at: "/acme/")
        #expect(named.slot >= 0 && gateway.account(of: named) == Families.first)
        gateway.clearUnused { SlotUsers() }
        #expect(gateway.slots.memberCount == 0)
        #expect(self.sent(gateway, named)?.contains("token-3") == true)
    }
}

@Suite struct FamilyCredentialTableTests {
    @Test func `nothing is kept of an account that was let go`() {
        var table = CredentialTable()
        table.apply(.installed(.sample(account: Families.first)))
        table.apply(.approved(Families.first, until: .distantFuture))
        #expect(table.standing(of: Families.first).credential != nil)
        #expect(table.standing(of: Families.first).approvedUntil == .distantFuture)
        table.apply(.retired(Families.first))
        #expect(table.standing(of: Families.first).credential == nil)
        #expect(table.standing(of: Families.first).approvedUntil == .distantPast)
        // The owner of stored responses went too, so no authorization ends now.
        let hasEnded = table.apply(.dropped(Families.first))
        #expect(!hasEnded)
    }
}
