package import HTTPWire
package import NIOCore

/// Takes a caller's requests off its bytes: a head, its body, the next head.
package struct RequestReader {
    /// What ``next()`` found.
    package enum Step: Sendable {
        /// The body, where the head says that there is one, follows.
        case head(RequestHead)
        case bytes(ByteBuffer)
        /// Of the body. Its trailers are unchecked for their meaning.
        case end(Trailers?)
        case needsMore
    }

    private var parser: RequestHeadParser
    private var decoder = BodyDecoder(.none)
    private var buffer = ByteBuffer()
    /// A head was given out whose body has not ended.
    package private(set) var isInBody = false

    package init(limits: HeadLimits) {
        self.parser = RequestHeadParser(limits: limits)
    }

    /// Bytes that wait here.
    package var count: Int { self.buffer.readableBytes }

    /// Part of a head has come, or of a body. Kept, since it is asked with each read, and for an answer from its parts they
    /// would all be copied.
    package private(set) var hasBegun = false

    /// Takes what was read from the caller.
    package mutating func receive(_ bytes: ByteBuffer) {
        self.buffer.append(bytes)
        self.lookWhetherBegun()
    }

    private mutating func lookWhetherBegun() {
        self.hasBegun = self.isInBody || self.parser.hasBegun || self.count > 0
    }

    /// Takes the next part from the bytes that are here.
    ///
    /// - Throws: what breaks HTTP/1.1; nothing that follows can be understood then.
    package mutating func next() throws(WireError) -> Step {
        defer { self.lookWhetherBegun() }
        let step = self.isInBody ? try self.nextOfBody() : try self.nextHead()
        // A read buffer is not held for nothing.
        if self.buffer.readableBytes == 0 { self.buffer = ByteBuffer() }
        return step
    }

    private mutating func nextHead() throws(WireError) -> Step {
        guard let head = try self.parser.next(&self.buffer) else { return .needsMore }
        if head.hasBody {
            self.decoder = BodyDecoder(head.body)
            self.isInBody = true
        }
        return .head(head)
    }

    private mutating func nextOfBody() throws(WireError) -> Step {
        switch try self.decoder.next(&self.buffer) {
        case .bytes(let bytes):
            return .bytes(bytes)
        case .end(let trailers):
            self.isInBody = false
            return .end(trailers)
        case .needsMore:
            return .needsMore
        }
    }

    /// All bytes that wait here: they are no request any more.
    package mutating func takeRest() -> ByteBuffer {
        defer { self.clear() }
        return self.buffer
    }

    /// Throws away what waits here.
    package mutating func clear() {
        self.buffer = ByteBuffer()
        self.lookWhetherBegun()
    }
}

extension RequestHead {
    /// A body of at least one byte follows, or one whose length is not known.
    var hasBody: Bool { !self.body.isEmpty }
}
