import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// What a read of an account's record says beside the record that is known.
@Suite struct ComparedReadsTests {
    @Test func `a read that may be outdated is neither accepted nor repaired`() {
        let now = Moment.start
        let known = AccountVault.Entry(record: .valid(generation: 5), version: Version(9))
        let older = AccountVault.Entry(record: .valid(generation: 4), version: Version(8))
        let another = AccountVault.Entry(record: .valid(grant: GrantID("other")), version: Version(9))
        var accountState = AccountState<String>(account: alice, binding: .acme)
        let before = accountState.revision
        _ = accountState.observe(known, now: now)
        let after = accountState.revision
        _ = accountState.observe(known, now: now)

        #expect(accountState.compare(older, readAt: before) == .overtaken)
        #expect(accountState.compare(older, readAt: after) == .older(known))
        #expect(accountState.compare(another, readAt: after) == .older(known))
        #expect(accountState.compare(nil, readAt: after) == .older(known))
        #expect(accountState.compare(known, readAt: after) == .current)
    }

    @Test func `a read from before a loss does not bring back the lost record`() {
        let now = Moment.start
        let lost = AccountVault.Entry(record: .valid(generation: 5), version: Version(9))
        let found = AccountVault.Entry(record: .valid(grant: GrantID("other")), version: Version(8))
        var accountState = AccountState<String>(account: alice, binding: .acme)
        _ = accountState.observe(lost, now: now)
        let before = accountState.revision
        _ = accountState.fallBack(to: found, from: lost, now: now)

        #expect(accountState.compare(lost, readAt: before) == .overtaken)
        #expect(accountState.compare(found, readAt: accountState.revision) == .current)
        #expect(accountState.compare(lost, readAt: accountState.revision) == .current)
    }
}
