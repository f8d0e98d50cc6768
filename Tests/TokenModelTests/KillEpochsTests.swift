import Testing
import TokenModel

/// What a folded kill log says of tokens.
@Suite struct KillEpochsTests {
    private let alice = AccountID("alice")
    private let acme = ProviderID("acme")

    private func verdict(_ epochs: KillEpochs, observedEpoch: UInt64) -> KillEpochs.Verdict {
        epochs.verdict(on: Epoch(observedEpoch), of: self.alice, at: self.acme)
    }

    @Test func `I5_a stamp by an entry that was lost counts for nothing`() {
        let (own, lost) = (KillID.random(), KillID.random())
        var epochs = KillEpochs()
        epochs.raise(.all, at: Epoch(1), holds: true)
        epochs.note(own)

        #expect(epochs.lastEntry == own)
        #expect(epochs.counted(Epoch(1), by: own) == Epoch(1))
        #expect(epochs.counted(Epoch(1), by: nil) == Epoch(1))
        #expect(epochs.counted(Epoch(1), by: lost) == .start)
        #expect(epochs.counted(Epoch(2), by: lost) == Epoch(2))
    }

    @Test func `given no kill, all tokens live`() {
        #expect(self.verdict(KillEpochs(), observedEpoch: 0) == .live)
    }

    @Test(arguments: [KillScope.all, .provider(ProviderID("acme")), .account(AccountID("alice"))])
    func `given a kill of any scope of an account, it is killed whatever its stamp`(_ scope: KillScope) {
        var epochs = KillEpochs()
        epochs.raise(scope, at: Epoch(3), holds: true)
        #expect(self.verdict(epochs, observedEpoch: 2) == .killed)
        #expect(self.verdict(epochs, observedEpoch: 3) == .killed)
        #expect(epochs.last == Epoch(3))
    }

    @Test(arguments: [KillScope.provider(ProviderID("other")), .account(AccountID("bob"))])
    func `given a kill of somebody else, tokens live`(_ scope: KillScope) {
        var epochs = KillEpochs()
        epochs.raise(scope, at: Epoch(3), holds: true)
        #expect(self.verdict(epochs, observedEpoch: 0) == .live)
    }

    @Test func `given a kill of a provider that tokens were bound to before, it is about them too`() {
        let before = ProviderID("before")
        var epochs = KillEpochs()
        epochs.raise(.provider(before), at: Epoch(3), holds: true)
        func verdict(observedEpoch: UInt64, formerly: [ProviderID]) -> KillEpochs.Verdict {
            epochs.verdict(on: Epoch(observedEpoch), of: self.alice, at: self.acme, formerly: formerly)
        }
        #expect(verdict(observedEpoch: 2, formerly: [before]) == .killed)
        #expect(verdict(observedEpoch: 2, formerly: []) == .live)
        #expect(epochs.killer(of: Epoch(2), of: self.alice, at: self.acme, formerly: [before]) == Epoch(3))
        #expect(epochs.killer(of: Epoch(2), of: self.alice, at: self.acme) == nil)
        #expect(!epochs.mayEnd(with: Epoch(2), of: self.alice, at: self.acme, formerly: [before]))
        #expect(epochs.mayEnd(with: Epoch(2), of: self.alice, at: self.acme))

        epochs.lift(.provider(before), at: Epoch(4))
        #expect(verdict(observedEpoch: 2, formerly: [before]) == .dead)
        #expect(verdict(observedEpoch: 3, formerly: [before]) == .live)
    }

    @Test func `given a kill that is lifted, what was killed stays dead and what came behind it lives`() {
        var epochs = KillEpochs()
        epochs.raise(.account(self.alice), at: Epoch(3), holds: true)
        epochs.lift(.account(self.alice), at: Epoch(4))
        #expect(self.verdict(epochs, observedEpoch: 2) == .dead)
        #expect(self.verdict(epochs, observedEpoch: 3) == .live)
        #expect(epochs.last == Epoch(4))
    }

    @Test func `given a kill of a provider and of its account, lifting one leaves the other`() {
        var epochs = KillEpochs()
        epochs.raise(.provider(self.acme), at: Epoch(1), holds: true)
        epochs.raise(.account(self.alice), at: Epoch(2), holds: true)
        epochs.lift(.account(self.alice), at: Epoch(3))
        #expect(self.verdict(epochs, observedEpoch: 3) == .killed)
        #expect(epochs.killed == [.provider(self.acme)])
    }

    @Test func `given a removal while a kill holds, the kill holds on`() {
        var epochs = KillEpochs()
        epochs.raise(.account(self.alice), at: Epoch(1), holds: true)
        epochs.raise(.account(self.alice), at: Epoch(2), holds: false)
        #expect(self.verdict(epochs, observedEpoch: 2) == .killed)
    }

    @Test func `requests under way may end where each kill of their token lets them`() {
        func mayEnd(_ epochs: KillEpochs, observedEpoch: UInt64 = 0) -> Bool {
            epochs.mayEnd(with: Epoch(observedEpoch), of: self.alice, at: self.acme)
        }
        var epochs = KillEpochs()
        #expect(mayEnd(epochs))
        epochs.raise(.account(AccountID("bob")), at: Epoch(1), holds: true)
        epochs.raise(.account(self.alice), at: Epoch(2), holds: true, streams: .drain)
        #expect(mayEnd(epochs))
        epochs.setPending([.provider(self.acme): .drain])
        #expect(mayEnd(epochs))
        epochs.setPending([.provider(self.acme): .abort])
        #expect(!mayEnd(epochs, observedEpoch: 9))
        epochs.setPending([:])
        epochs.raise(.provider(self.acme), at: Epoch(3), holds: false)
        #expect(!mayEnd(epochs, observedEpoch: 2))
        #expect(mayEnd(epochs, observedEpoch: 3))
        // What was to be cut is, though a later kill would have let it end.
        epochs.raise(.provider(self.acme), at: Epoch(4), holds: true, streams: .drain)
        #expect(!mayEnd(epochs, observedEpoch: 2))
        #expect(mayEnd(epochs, observedEpoch: 3))
    }

    @Test func `given a removal, older tokens are dead and newer ones live`() {
        var epochs = KillEpochs()
        epochs.raise(.account(self.alice), at: Epoch(5), holds: false)
        #expect(self.verdict(epochs, observedEpoch: 4) == .dead)
        #expect(self.verdict(epochs, observedEpoch: 5) == .live)
        #expect(!epochs.isKilled(.account(self.alice)))
    }

    @Test func `given a removal, what took the tokens is told from a kill`() {
        func takings(_ epochs: KillEpochs) -> KillEpochs.Invalidation {
            epochs.invalidation(of: self.alice, at: [self.acme])
        }
        var epochs = KillEpochs()
        epochs.raise(.account(AccountID("bob")), at: Epoch(1), holds: true)
        #expect(takings(epochs).kill == nil && takings(epochs).removal == nil)
        #expect(!takings(epochs).endWithRemoval)
        epochs.raise(.account(self.alice), at: Epoch(2), holds: false)
        #expect(takings(epochs).kill == nil && takings(epochs).removal == Epoch(2))
        #expect(takings(epochs).endWithRemoval)
        epochs.raise(.provider(self.acme), at: Epoch(3), holds: true)
        epochs.lift(.provider(self.acme), at: Epoch(4))
        #expect(takings(epochs).kill == Epoch(3) && takings(epochs).removal == Epoch(2))
        #expect(!takings(epochs).endWithRemoval)
        epochs.raise(.account(self.alice), at: Epoch(5), holds: false)
        #expect(takings(epochs).kill == Epoch(3) && takings(epochs).endWithRemoval)
    }
}
