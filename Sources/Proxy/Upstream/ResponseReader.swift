package import HTTPWire
package import NIOCore

/// Takes the answers to one request off an upstream's bytes: interim heads, the head, the body.
package struct ResponseReader {
    /// What ``next()`` found.
    package enum Step: Sendable {
        /// An interim one is followed by another head, any other by its body.
        case head(ResponseHead)
        case bytes(ByteBuffer)
        /// Of the answer.
        case end(Trailers?)
        case needsMore
    }

    private var parser = ResponseHeadParser()
    private var decoder = BodyDecoder(.none)
    private var method = HTTPMethod.other
    private var buffer = ByteBuffer()
    private var isInBody = false
    /// The answer lets the connection serve another request.
    private var keepsAlive = false
    /// How long the connection is kept when no request comes: for as long as the upstream says that it keeps it, less a
    /// second for the way, since a request must not leave while the end is coming; at most ``longestIdleTime``.
    package private(set) var idleTime = Self.longestIdleTime
    /// 60 s is what many servers have, and do not say.
    package static let longestIdleTime = Duration.seconds(50)
    /// A byte of an answer has come.
    package private(set) var hasBegun = false

    package init() {}

    /// The answer has ended, cleanly enough that another may follow on the same connection.
    package var isClean: Bool { self.keepsAlive && self.decoder.isEnded && self.buffer.readableBytes == 0 }

    /// Whether the upstream ending its side now ends the answer.
    package var endsWithClose: Bool { self.isInBody && self.decoder.endsWithClose }

    /// A request has gone out: what comes now answers it.
    package mutating func begin(_ method: HTTPMethod) {
        self.method = method
        self.isInBody = false
        self.hasBegun = false
    }

    /// Takes what was read from the upstream.
    package mutating func receive(_ bytes: ByteBuffer) {
        self.hasBegun = true
        self.buffer.append(bytes)
    }

    /// Takes the next part from the bytes that are here.
    ///
    /// - Throws: what breaks HTTP/1.1; the connection must be thrown away then.
    package mutating func next() throws(WireError) -> Step {
        let step = self.isInBody ? try self.nextOfBody() : try self.nextHead()
        // A read buffer is not held for nothing.
        if self.buffer.readableBytes == 0 { self.buffer = ByteBuffer() }
        return step
    }

    private mutating func nextHead() throws(WireError) -> Step {
        guard let head = try self.parser.next(&self.buffer, answering: self.method) else { return .needsMore }
        if !head.isInterim {
            self.decoder = BodyDecoder(head.body)
            let timeout = head.keepAliveTimeout
            self.idleTime = timeout.map { min(.seconds($0 - 1), Self.longestIdleTime) } ?? Self.longestIdleTime
            self.keepsAlive = head.keepsAlive && timeout ?? .max > 1
            self.isInBody = true
        }
        return .head(head)
    }

    private mutating func nextOfBody() throws(WireError) -> Step {
        switch try self.decoder.next(&self.buffer) {
        case .bytes(let bytes): .bytes(bytes)
        case .end(let trailers): .end(trailers)
        case .needsMore: .needsMore
        }
    }

    /// All bytes that wait here. Nothing is an answer any more from here on.
    package mutating func takeRest() -> ByteBuffer {
        defer { self = ResponseReader() }
        return self.buffer
    }

    /// Throws the rest of the answer away, as far as it is here.
    ///
    /// - Returns: whether that was all of it, and well formed.
    package mutating func skipRest() -> Bool {
        while true {
            switch try? self.next() {
            case .bytes: continue
            case .end: return true
            case .head, .needsMore, nil: return false
            }
        }
    }

    /// Whether all of the answer is here.
    ///
    /// - Parameter isEnded: the upstream has ended its side.
    package func isWhole(isEnded: Bool) -> Bool {
        var rest = self
        return rest.skipRest() || isEnded && rest.endsWithClose
    }
}
