import Proxy
import Testing

@Suite struct ResponseStreamTests {
    /// The steps of a response.
    enum Step: Sendable { case inspect, hold, loseHeld, discard, credential, end }

    private func stream(_ way: [Step]) -> ResponseStream {
        var stream = ResponseStream()
        for step in way {
            switch step {
            case .inspect: stream.inspect()
            case .hold: stream.hold()
            case .loseHeld: stream.loseHeld()
            case .discard: stream.discard()
            case .credential: _ = stream.pass()
            case .end: _ = stream.end()
            }
        }
        return stream
    }

    @Test(
        arguments: [
            ([], .none), ([.inspect], .inspecting), ([.hold], .held), ([.inspect, .hold], .held),
            ([.hold, .loseHeld], .held), ([.hold, .discard], .none), ([.hold, .loseHeld, .discard], .none),
            ([.credential], .passing), ([.inspect, .credential], .passing), ([.hold, .credential], .passing),
            ([.loseHeld], .none),
            ([.hold, .discard, .credential, .end], .ended),
        ] as [([Step], ResponseStream.Phase)]
    )
    func `each sequence of steps leads to one phase`(way: [Step], phase: ResponseStream.Phase) {
        let outcome = self.stream(way).phase
        #expect(outcome == phase)
    }

    @Test(
        arguments: [
            ([], .unanswered), ([.inspect], .failed), ([.hold], .nothing), ([.hold, .discard], .unanswered),
            ([.credential], .cut), ([.hold, .credential], .cut), ([.credential, .end], .stopRequest),
        ] as [([Step], ResponseStream.Lost)]
    )
    func `the meaning of a lost connection depends on how far the response is`(
        way: [Step],
        meaning: ResponseStream.Lost
    ) {
        var stream = self.stream(way)
        let outcome = stream.lost()
        #expect(outcome == meaning)
    }

    @Test func `a held response that was lost is known to be lost, and the next one is not`() {
        var stream = self.stream([.hold])
        _ = stream.lost()
        let isLost = stream.isHeldLost
        stream.discard()
        stream.hold()
        let isNextLost = stream.isHeldLost
        #expect(isLost)
        #expect(!isNextLost)
    }

    @Test func `twenty interim responses are accepted, and no more`() {
        var stream = ResponseStream()
        for _ in 1...20 {
            let isTaken = stream.countInterim()
            #expect(isTaken)
        }
        let isTaken = stream.countInterim()
        #expect(!isTaken)
        stream.reset()
        let isTakenOfNext = stream.countInterim()
        #expect(isTakenOfNext)
    }

    @Test func `a response has begun for the caller once its head is passed on`() {
        for (way, hasBegun) in [([], false), ([.hold], false), ([.credential], true), ([.credential, .end], true)]
            as [([Step], Bool)]
        {
            let outcome = self.stream(way).hasBegun
            #expect(outcome == hasBegun)
        }
    }
}
