import NIOCore
import Proxy
import Testing

@Suite struct RequestStreamTests {
    private static let piece = ByteBuffer(string: "hello")

    private func held(_ limit: Int = 100, awaitsWhole: Bool = false, memory: SharedLimit? = nil) -> RequestStream {
        var stream = RequestStream()
        stream.begin(hasBody: true, keeping: KeptBody(limit: limit, memory: memory), awaitsWhole: awaitsWhole)
        return stream
    }

    private func started(_ limit: Int = 100) -> RequestStream {
        var stream = self.held(limit)
        stream.start()
        return stream
    }

    @Test func `a request without a body is whole, and over once its head is out`() {
        var stream = RequestStream()
        stream.begin(hasBody: false, keeping: KeptBody(limit: 100), awaitsWhole: true)
        let before = (stream.isWhole, stream.awaitsWhole, stream.isOver)
        stream.start()
        let (phase, isOver) = (stream.phase, stream.isOver)
        #expect(before == (true, false, false))
        #expect(phase == .ended)
        #expect(isOver)
    }

    @Test func `what comes before the head is out is kept, and the rest goes at once`() {
        var stream = self.held()
        let first = stream.received(Self.piece)
        stream.start()
        let (phase, kept) = (stream.phase, stream.kept.bytes)
        let second = stream.received(Self.piece)
        let end = stream.finished(nil)
        let (last, isOver) = (stream.phase, stream.isOver)
        #expect(first == .hold)
        #expect(kept == Self.piece)
        #expect(phase == .sending)
        #expect(second == .send)
        #expect(end == .sendEnd)
        #expect(last == .ended)
        #expect(isOver)
    }

    @Test func `a body that is whole before its head is out ends with it`() {
        var stream = self.held()
        _ = stream.received(Self.piece)
        let end = stream.finished(nil)
        stream.start()
        let phase = stream.phase
        #expect(end == .nothing)
        #expect(phase == .ended)
    }

    @Test(arguments: [false, true])
    func `a request is sent again from its start`(isEnded: Bool) {
        var stream = self.started()
        _ = stream.received(Self.piece)
        if isEnded { _ = stream.finished(nil) }
        stream.rewind()
        let (phase, kept, isRepeatable) = (stream.phase, stream.kept.bytes, stream.isRepeatable)
        stream.start()
        let again = stream.phase
        #expect(phase == .held)
        #expect(kept == Self.piece)
        #expect(isRepeatable)
        #expect(again == (isEnded ? .ended : .sending))
    }

    @Test func `what is longer than the limit goes on, and can't be sent again`() {
        var stream = self.started(8)
        _ = stream.received(Self.piece)
        let second = stream.received(Self.piece)
        let isRepeatable = stream.isRepeatable
        #expect(second == .send)
        #expect(!isRepeatable)
    }

    @Test func `a request that was stopped is read to its end, and nothing of it goes anywhere`() {
        var stream = self.started()
        _ = stream.received(Self.piece)
        stream.stop()
        let (phase, isOver, isRepeatable) = (stream.phase, stream.isOver, stream.isRepeatable)
        let wants = stream.wantsMore(isWritable: false)
        let more = stream.received(Self.piece)
        let kept = stream.kept.bytes
        let end = stream.finished(nil)
        let stillWants = stream.wantsMore(isWritable: true)
        #expect(phase == .stopped)
        #expect(isOver)
        #expect(!isRepeatable)
        #expect(wants)
        #expect(more == .discard)
        #expect(kept == nil)
        #expect(end == .nothing)
        #expect(!stillWants)
    }

    @Test func `a body that must be whole is waited for, up to the limit`() {
        var stream = self.held(8, awaitsWhole: true)
        let first = stream.received(Self.piece)
        let wants = stream.wantsMore(isWritable: false)
        let second = stream.received(Self.piece)
        let wantsMore = stream.wantsMore(isWritable: false)
        #expect(first == .hold)
        #expect(wants)
        #expect(second == .tooLong)
        #expect(!wantsMore)

        stream = self.held(8, awaitsWhole: true)
        _ = stream.received(Self.piece)
        let end = stream.finished(nil)
        let awaits = stream.awaitsWhole
        #expect(end == .proceed)
        #expect(!awaits)
    }

    @Test func `a body that must be whole has no more room than all bodies have`() {
        let memory = SharedLimit(4)
        var stream = self.held(100, awaitsWhole: true, memory: memory)
        let outcome = stream.received(Self.piece)
        stream.reset()
        #expect(outcome == .noMemory)
        #expect(memory.taken == 0)
    }

    @Test func `more is read while there is room, and while the upstream takes it`() {
        var stream = self.held(5)
        let atFirst = stream.wantsMore(isWritable: false)
        _ = stream.received(Self.piece)
        let whenFull = stream.wantsMore(isWritable: true)
        stream.start()
        let blocked = stream.wantsMore(isWritable: false)
        let open = stream.wantsMore(isWritable: true)
        _ = stream.finished(nil)
        let ended = stream.wantsMore(isWritable: true)
        #expect(atFirst)
        #expect(!whenFull)
        #expect(!blocked)
        #expect(open)
        #expect(!ended)
    }

    @Test func `what is no request is never whole, and nothing of it goes on`() {
        var stream = RequestStream()
        stream.fail()
        let (phase, isWhole) = (stream.phase, stream.isWhole)
        #expect(phase == .stopped)
        #expect(!isWhole)
    }

    @Test func `nothing is kept behind a response that passes, nor behind the request's end`() {
        let memory = SharedLimit(100)
        var stream = self.held(100, memory: memory)
        _ = stream.received(Self.piece)
        stream.start()
        stream.settle()
        let later = stream.received(Self.piece)
        #expect(later == .send)
        #expect(memory.taken == 0)
        stream.reset()
        let (phase, isWhole) = (stream.phase, stream.isWhole)
        #expect(phase == .idle)
        #expect(isWhole)
    }
}
