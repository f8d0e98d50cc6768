import Proxy
import Testing

@Suite struct RequestStreamTests {
    private func held(awaitsWhole: Bool = false) -> RequestStream {
        var stream = RequestStream()
        stream.begin(hasBody: true, awaitsWhole: awaitsWhole)
        return stream
    }

    private func started() -> RequestStream {
        var stream = self.held()
        stream.start()
        return stream
    }

    @Test func `a request without a body is complete, and over once its head has left`() {
        var stream = RequestStream()
        stream.begin(hasBody: false, awaitsWhole: true)
        let before = (stream.isWhole, stream.awaitsWhole, stream.isOver)
        stream.start()
        let (phase, isOver) = (stream.phase, stream.isOver)
        #expect(before == (true, false, false))
        #expect(phase == .ended)
        #expect(isOver)
    }

    @Test func `what comes before the head has left is held, and the rest is sent at once`() {
        var stream = self.held()
        let first = stream.received()
        stream.start()
        let phase = stream.phase
        let second = stream.received()
        let end = stream.finished()
        let (last, isOver, third) = (stream.phase, stream.isOver, stream.received())
        #expect(first == .hold)
        #expect(phase == .sending)
        #expect(second == .send)
        #expect(end == .sendEnd)
        #expect(last == .ended)
        #expect(isOver)
        #expect(third == .discard)
    }

    @Test func `a body that is complete before its head leaves ends with the head`() {
        var stream = self.held()
        let end = stream.finished()
        stream.start()
        let phase = stream.phase
        #expect(end == .nothing)
        #expect(phase == .ended)
    }

    @Test(arguments: [false, true])
    func `a request is sent again from its start`(isEnded: Bool) {
        var stream = self.started()
        if isEnded { _ = stream.finished() }
        stream.rewind()
        let phase = stream.phase
        stream.start()
        let again = stream.phase
        #expect(phase == .held)
        #expect(again == (isEnded ? .ended : .sending))
    }

    @Test(arguments: [false, true])
    func `a stopped request is read to its end, and nothing of it is sent`(isStarted: Bool) {
        var stream = isStarted ? self.started() : self.held()
        stream.stop()
        let (phase, isOver) = (stream.phase, stream.isOver)
        let wants = stream.wantsMore(isWritable: false, hasRoom: false)
        let more = stream.received()
        stream.rewind()
        let rewound = stream.phase
        let end = stream.finished()
        let stillWants = stream.wantsMore(isWritable: true, hasRoom: true)
        #expect(phase == .stopped)
        #expect(isOver)
        #expect(wants)
        #expect(more == .discard)
        #expect(rewound == .stopped)
        #expect(end == .nothing)
        #expect(!stillWants)
    }

    @Test func `a request that has left completely can't be stopped any more`() {
        var stream = self.started()
        _ = stream.finished()
        stream.stop()
        let phase = stream.phase
        #expect(phase == .ended)
    }

    @Test func `a body that must be complete is waited for`() {
        var stream = self.held(awaitsWhole: true)
        let first = stream.received()
        let end = stream.finished()
        let awaits = stream.awaitsWhole
        #expect(first == .hold)
        #expect(end == .proceed)
        #expect(!awaits)
    }

    @Test func `a held request reads while there is room, and a started one while the upstream takes it`() {
        var stream = self.held()
        let atFirst = stream.wantsMore(isWritable: false, hasRoom: true)
        let whenFull = stream.wantsMore(isWritable: true, hasRoom: false)
        stream.start()
        let blocked = stream.wantsMore(isWritable: false, hasRoom: true)
        let open = stream.wantsMore(isWritable: true, hasRoom: false)
        _ = stream.finished()
        let ended = stream.wantsMore(isWritable: true, hasRoom: true)
        #expect(atFirst)
        #expect(!whenFull)
        #expect(!blocked)
        #expect(open)
        #expect(!ended)
    }

    @Test func `a failed request is never complete, and nothing of it is sent`() {
        var stream = RequestStream()
        stream.fail()
        let (phase, isWhole) = (stream.phase, stream.isWhole)
        stream.reset()
        let (last, isWholeAgain) = (stream.phase, stream.isWhole)
        #expect(phase == .stopped)
        #expect(!isWhole)
        #expect(last == .idle)
        #expect(isWholeAgain)
    }

    @Test(arguments: [
        // The response is an error, its connection is there, it stays open → the body that was held, that was being sent.
        (false, true, true, RequestStream.Phase.held, RequestStream.Phase.sending),
        (false, true, false, .held, .sending),
        (true, true, true, .stopped, .sending),
        (true, true, false, .stopped, .stopped),
        (false, false, true, .stopped, .stopped),
    ])
    func `an upload goes on behind a response, unless the upstream takes no more`(
        isError: Bool,
        hasConnection: Bool,
        keepsAlive: Bool,
        heldBefore: RequestStream.Phase,
        sendingBefore: RequestStream.Phase
    ) {
        var held = self.held()
        var sending = self.started()
        let first = held.passedResponse(isError: isError, hasConnection: hasConnection, keepsAlive: keepsAlive)
        let second = sending.passedResponse(isError: isError, hasConnection: hasConnection, keepsAlive: keepsAlive)
        let (heldPhase, sendingPhase) = (held.phase, sending.phase)
        #expect(heldPhase == heldBefore)
        #expect(first == (heldBefore == .held ? .start : .nothing))
        #expect(sendingPhase == sendingBefore)
        #expect(second == .nothing)
    }
}
