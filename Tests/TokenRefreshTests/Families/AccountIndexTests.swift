import Testing
import TokenModel
import TokenRefresh
import TokenStorage

@Suite struct AccountIndexTests {
    private let endpoint = ScriptedTokenEndpoint()

    private func plans(_ pattern: String = "customer-*", max: Int = 10, named: [AccountID] = []) throws -> AccountPlans
    {
        AccountPlans(
            named.map { AccountConfiguration(account: $0, provider: acme, endpoint: self.endpoint) },
            families: [try .customers(at: self.endpoint, pattern: pattern, max: max)]
        )
    }

    /// What is known of an account whose record has these tokens, or of one that was removed.
    private func known(_ isRemoved: Bool = false) -> IndexedAccount {
        let record = AccountRecord.valid().with {
            $0.isRemoved = isRemoved
            if isRemoved { $0.tokens = nil }
        }
        let snapshot = RecordSnapshot(AccountVault.Entry(record: record, version: .first), after: nil, now: .start)
        return IndexedAccount(snapshot, of: .customer(1), bound: .acme, under: KillEpochs(), jitter: 0)
    }

    @Test func `an account exists and is counted from its import to its removal, however often it changes`() throws {
        let index = AccountIndex(try self.plans())
        let customers = try #require(AccountFamily(pattern: "customer-*"))
        var counts: [Int] = []
        var exists: [Bool] = []
        for known in [self.known(), self.known(), self.known(true), self.known(true), self.known()] {
            index.set(known, for: .customer(1))
            counts.append(index.count(of: customers))
            exists.append(index.exists(.customer(1)))
        }
        #expect(counts == [1, 1, 0, 0, 1])
        #expect(exists == [true, true, false, false, true])
        #expect(index.count == 1)
    }

    @Test func `a family has as many places as its max, and one more after a removal`() throws {
        let index = AccountIndex(try self.plans(max: 3))
        let customers = try #require(AccountFamily(pattern: "customer-*"))
        index.set(self.known(), for: .customer(0))
        index.set(self.known(), for: .customer(1))
        let third = index.reserve(.customer(2), in: customers)
        let fourth = index.reserve(.customer(3), in: customers)
        index.set(self.known(true), for: .customer(0))
        let afterRemoval = index.reserve(.customer(3), in: customers)
        #expect([third, fourth, afterRemoval] == [true, false, true])
    }

    @Test func `an account that came to be is not counted twice until its place is given back`() throws {
        // Given a family with two places, one of which was reserved
        let index = AccountIndex(try self.plans(max: 2))
        let customers = try #require(AccountFamily(pattern: "customer-*"))
        _ = index.reserve(.customer(1), in: customers)
        // When the account exists, and its import has not returned yet
        index.set(self.known(), for: .customer(1))
        // Then the other place can be taken
        #expect(index.reserve(.customer(2), in: customers))
        index.giveBack(.customer(1), in: customers)
        #expect(!index.reserve(.customer(3), in: customers))
    }

    @Test func `two imports of one account take one place, which is free when both have failed`() throws {
        let index = AccountIndex(try self.plans(max: 1))
        let customers = try #require(AccountFamily(pattern: "customer-*"))
        let both = [index.reserve(.customer(1), in: customers), index.reserve(.customer(1), in: customers)]
        index.giveBack(.customer(1), in: customers)
        let whileOneGoesOn = index.reserve(.customer(2), in: customers)
        index.giveBack(.customer(1), in: customers)
        let afterwards = index.reserve(.customer(2), in: customers)
        #expect(both == [true, true])
        #expect(!whileOneGoesOn)
        #expect(afterwards)
    }

    @Test func `a family that is not configured has no place`() throws {
        let index = AccountIndex(try self.plans())
        let others = try #require(AccountFamily(pattern: "other-*"))
        #expect(!index.reserve(AccountID("other-1"), in: others))
    }

    @Test func `a reload counts by the families that there are now, and drops accounts that have a name of their own`()
        throws
    {
        let index = AccountIndex(try self.plans())
        for number in 0..<5 { index.set(self.known(), for: .customer(number)) }
        index.set(self.known(true), for: .customer(5))
        let customers = try #require(AccountFamily(pattern: "customer-*"))
        let all = try #require(AccountFamily(pattern: "cust*"))

        index.reload(try self.plans("cust*", named: [.customer(0)]))
        let counts = [index.count(of: customers), index.count(of: all)]
        #expect(counts == [0, 4])
        #expect(index[.customer(0)] == nil)

        // Accounts of no family stay known.
        index.reload(try self.plans("other-*"))
        #expect(index.count(of: all) == 0)
        #expect(index.exists(.customer(1)))
        index.reload(try self.plans())
        #expect(index.count(of: customers) == 4)
    }

    @Test func `all accounts are passed once`() throws {
        let index = AccountIndex(try self.plans())
        for number in 0..<1_000 { index.set(self.known(number.isMultiple(of: 10)), for: .customer(number)) }
        var seen: [AccountID: Bool] = [:]
        var passes = 0
        index.forEach { account, known in
            passes += 1
            seen[account] = known.exists
        }
        #expect(passes == 1_000)
        #expect(seen.count == 1_000)
        #expect(seen.values.count { $0 } == 900)
    }
}
