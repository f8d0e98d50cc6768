package import HTTPWire
package import NIOCore

/// Reads a caller's requests from its bytes: a head, its body, the next head.
package struct RequestReader {
    /// What ``next()`` found.
    package enum Step: Sendable {
        /// A head. Its body follows, if the head says that there is one.
        case head(RequestHead)
        case bytes(ByteBuffer)
        /// The end of the body. The trailers are not checked for their meaning.
        case end(Trailers?)
        case needsMore
    }

    private var parser: RequestHeadParser
    private var decoder = BodyDecoder(.none)
    private var buffer = ByteBuffer()
    /// A head was returned whose body has not ended.
    package private(set) var isInBody = false

    package init(limits: HeadLimits) {
        self.parser = RequestHeadParser(limits: limits)
    }

    /// Number of bytes that wait here.
    package var count: Int { self.buffer.readableBytes }

    /// Number of bytes that the waiting bytes take.
    package var capacity: Int { self.buffer.storageCapacity }

    /// Whether part of a head or of a body has arrived. It is stored, since it is asked at each read, and computing it
    /// from the parts would copy all of them.
    package private(set) var hasBegun = false

    /// Takes what was read from the caller.
    package mutating func receive(_ bytes: ByteBuffer) {
        self.buffer.append(bytes)
        self.lookWhetherBegun()
    }

    private mutating func lookWhetherBegun() {
        self.hasBegun = self.isInBody || self.parser.hasBegun || self.count > 0
    }

    /// Takes the next part from the waiting bytes.
    ///
    /// - Throws: what breaks HTTP/1.1; nothing after that can be understood.
    package mutating func next() throws(WireError) -> Step {
        defer { self.lookWhetherBegun() }
        let step = self.isInBody ? try self.nextOfBody() : try self.nextHead()
        // An empty buffer is not retained.
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

    /// Takes all waiting bytes, which are no longer part of a request.
    package mutating func takeRest() -> ByteBuffer {
        defer { self.clear() }
        return self.buffer
    }

    /// Discards the waiting bytes.
    package mutating func clear() {
        self.buffer = ByteBuffer()
        self.lookWhetherBegun()
    }
}

extension RequestHead {
    /// Whether a body of at least one byte follows, or one of unknown length.
    var hasBody: Bool { !self.body.isEmpty }
}
