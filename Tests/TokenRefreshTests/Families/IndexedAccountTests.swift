import Testing
import TokenModel
import TokenRefresh
import TokenStorage

@Suite struct IndexedAccountTests {
    private let now = Moment.start
    private let member = AccountID.customer(1)

    private func indexed(
        _ record: AccountRecord?,
        bound binding: AccountRecord.Binding? = .acme,
        under epochs: KillEpochs = KillEpochs()
    ) -> IndexedAccount {
        let entry = record.map { AccountVault.Entry(record: $0, version: Version(3)) }
        let snapshot = RecordSnapshot(entry, after: nil, now: self.now)
        return IndexedAccount(snapshot, of: self.member, bound: binding, under: epochs, jitter: 0.5)
    }

    private func state(
        _ indexed: IndexedAccount,
        at provider: ProviderID? = acme,
        under epochs: KillEpochs = KillEpochs(),
        isHeld: Bool = false,
        after duration: Duration = .zero
    ) -> AccountStatus.State {
        let now = self.now.boot.advanced(by: duration)
        return indexed.state(of: self.member, at: provider, under: epochs, isHeld: isHeld, now: now)
    }

    private func kill(_ scope: KillScope, at epoch: UInt64 = 8, holds: Bool = true) -> KillEpochs {
        var epochs = KillEpochs()
        epochs.raise(scope, at: Epoch(epoch), holds: holds)
        return epochs
    }

    @Test(
        arguments: [
            (.valid(), .tokens, .valid), (.expired(), .tokens, .expired),
            (
                .valid().with { $0.failureRecord = .sample(dead: true, reason: "invalid_grant") }, .deadGrant,
                .reauthorizationRequired
            ),
            (.valid().with { $0.binding.clientID = "another-app" }, .deadGrant, .reauthorizationRequired),
            (.valid().with { $0.binding.provider = ProviderID("other") }, .deadGrant, .reauthorizationRequired),
            (.valid().with { $0.failureRecord = .sample(retryIn: .seconds(60)) }, .tokens, .backingOff),
            (.valid().with { $0.tokens = nil }, .empty, .empty),
            (.valid().with { ($0.tokens, $0.isRemoved) = (nil, true) }, .removed, .empty), (nil, .removed, .empty),
        ] as [(AccountRecord?, IndexedAccount.Content, AccountStatus.State)]
    )
    func `a record gives the account's content and state`(
        record: AccountRecord?,
        content: IndexedAccount.Content,
        state: AccountStatus.State
    ) {
        let indexed = self.indexed(record)
        #expect(indexed.content == content)
        #expect(self.state(indexed) == state)
        #expect(indexed.exists == (content != .removed))
    }

    @Test func `the state follows the time without another read`() {
        let valid = self.indexed(.valid())
        let backingOff = self.indexed(.valid().with { $0.failureRecord = .sample(retryIn: .seconds(60)) })
        #expect(self.state(valid, after: .seconds(3_601)) == .expired)
        #expect(self.state(backingOff, after: .seconds(61)) == .valid)
    }

    @Test func `where nothing is sent to the provider, accounts without a valid token are backing off`() {
        #expect(self.state(self.indexed(.valid()), isHeld: true) == .valid)
        #expect(self.state(self.indexed(.expired()), isHeld: true) == .backingOff)
    }

    @Test(arguments: [KillScope.all, .provider(acme), .provider(ProviderID("former")), .account(.customer(1))])
    func `a kill that comes later counts without another read, and so does its end`(scope: KillScope) {
        let indexed = self.indexed(.valid().with { $0.formerProviders = [ProviderID("former")] })
        var epochs = self.kill(scope)
        let killed = self.state(indexed, under: epochs)
        epochs.lift(scope, at: Epoch(9))
        #expect(killed == .killed)
        #expect(self.state(indexed, under: epochs) == .empty)
        // The tokens may be swept meanwhile. The account still exists.
        let swept = self.indexed(.valid().with { $0.tokens = nil }, under: epochs)
        #expect(self.state(swept, under: epochs) == .empty)
        #expect(swept.exists)
    }

    @Test func `a kill of another account or provider does not count`() {
        let indexed = self.indexed(.valid())
        #expect(self.state(indexed, under: self.kill(.account(.customer(2)))) == .valid)
        #expect(self.state(indexed, under: self.kill(.provider(ProviderID("other")))) == .valid)
    }

    @Test func `an account whose tokens a removal took does not exist, even if a sweep emptied its record`() {
        let removed = self.indexed(
            .valid().with { $0.tokens = nil },
            under: self.kill(.account(self.member), holds: false)
        )
        #expect(removed.content == .removed)
    }

    @Test func `a kill after the removal does not bring the account back`() {
        var epochs = self.kill(.account(self.member), holds: false)
        epochs.raise(.all, at: Epoch(9), holds: true)
        let removed = self.indexed(.valid().with { ($0.tokens, $0.isRemoved) = (nil, true) }, under: epochs)
        #expect(removed.content == .removed)
        #expect(!removed.exists)
    }

    @Test func `a record that another process wrote keeps what is known, but may bring back a removed account`() {
        let valid = self.indexed(.valid()).changed(to: Version(9))
        let removed = self.indexed(nil).changed(to: Version(9))
        let new = IndexedAccount(unreadAt: Version(9), provider: acme, jitter: 0)

        #expect(valid.content == .tokens)
        #expect(self.state(valid) == .valid)
        #expect([removed, new].map(\.content) == [.unread, .unread])
        #expect([valid, removed, new].map(\.version) == [Version(9), Version(9), Version(9)])
        #expect([valid, removed, new].map(\.exists) == [true, true, true])
        #expect(self.state(new, under: self.kill(.all)) == .killed)
    }

    @Test func `a record that does not open is unreadable, and killed under a kill`() {
        let unreadable = IndexedAccount(unreadable: acme, jitter: 0)
        #expect(unreadable.exists)
        #expect(self.state(unreadable) == .unreadable)
        #expect(self.state(unreadable, under: self.kill(.provider(acme))) == .killed)
    }

    @Test func `an account of no family shows by the provider of its record`() {
        let orphan = self.indexed(.valid().with { $0.binding.provider = ProviderID("gone") }, bound: nil)
        #expect(orphan.provider == ProviderID("gone"))
        #expect(self.state(orphan, at: nil) == .valid)
        #expect(self.state(orphan, at: nil, under: self.kill(.provider(ProviderID("gone")))) == .killed)
    }
}
