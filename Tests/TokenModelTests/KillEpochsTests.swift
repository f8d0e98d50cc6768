import Testing
import TokenModel

/// The verdicts of a folded kill log on tokens.
@Suite struct KillEpochsTests {
    private let alice = AccountID("alice")
    private let acme = ProviderID("acme")

    private func verdict(_ epochs: KillEpochs, observedEpoch: UInt64) -> KillEpochs.Verdict {
        epochs.verdict(on: Epoch(observedEpoch), of: self.alice, at: self.acme)
    }

    @Test func `I5_a stamp by a lost entry is ignored`() {
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

    @Test func `without a kill, all tokens are live`() {
        #expect(self.verdict(KillEpochs(), observedEpoch: 0) == .live)
    }

    @Test(arguments: [KillScope.all, .provider(ProviderID("acme")), .account(AccountID("alice"))])
    func `a kill of any scope of an account kills it, whatever its stamp`(_ scope: KillScope) {
        var epochs = KillEpochs()
        epochs.raise(scope, at: Epoch(3), holds: true)
        #expect(self.verdict(epochs, observedEpoch: 2) == .killed)
        #expect(self.verdict(epochs, observedEpoch: 3) == .killed)
        #expect(epochs.last == Epoch(3))
    }

    @Test(arguments: [KillScope.provider(ProviderID("other")), .account(AccountID("bob"))])
    func `a kill of another account or provider leaves tokens live`(_ scope: KillScope) {
        var epochs = KillEpochs()
        epochs.raise(scope, at: Epoch(3), holds: true)
        #expect(self.verdict(epochs, observedEpoch: 0) == .live)
    }

    @Test func `a kill of a former provider applies to the tokens too`() {
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

    @Test func `after a kill is lifted, killed tokens stay dead and newer tokens are live`() {
        var epochs = KillEpochs()
        epochs.raise(.account(self.alice), at: Epoch(3), holds: true)
        epochs.lift(.account(self.alice), at: Epoch(4))
        #expect(self.verdict(epochs, observedEpoch: 2) == .dead)
        #expect(self.verdict(epochs, observedEpoch: 3) == .live)
        #expect(epochs.last == Epoch(4))
    }

    @Test func `lifting the kill of an account leaves the kill of its provider in force`() {
        var epochs = KillEpochs()
        epochs.raise(.provider(self.acme), at: Epoch(1), holds: true)
        epochs.raise(.account(self.alice), at: Epoch(2), holds: true)
        epochs.lift(.account(self.alice), at: Epoch(3))
        #expect(self.verdict(epochs, observedEpoch: 3) == .killed)
        #expect(epochs.killed == [.provider(self.acme)])
    }

    @Test func `a removal during a kill leaves the kill in force`() {
        var epochs = KillEpochs()
        epochs.raise(.account(self.alice), at: Epoch(1), holds: true)
        epochs.raise(.account(self.alice), at: Epoch(2), holds: false)
        #expect(self.verdict(epochs, observedEpoch: 2) == .killed)
    }

    @Test func `requests in progress may end if every kill of their token allows it`() {
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
        // A request that was to be cut stays cut, even if a later kill would let it end.
        epochs.raise(.provider(self.acme), at: Epoch(4), holds: true, streams: .drain)
        #expect(!mayEnd(epochs, observedEpoch: 2))
        #expect(mayEnd(epochs, observedEpoch: 3))
    }

    @Test func `after a removal, older tokens are dead and newer tokens are live`() {
        var epochs = KillEpochs()
        epochs.raise(.account(self.alice), at: Epoch(5), holds: false)
        #expect(self.verdict(epochs, observedEpoch: 4) == .dead)
        #expect(self.verdict(epochs, observedEpoch: 5) == .live)
        #expect(!epochs.isKilled(.account(self.alice)))
    }

    @Test func `a removal and a kill of the same tokens are told apart`() {
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
