package import HTTPWire
package import NIOCore

/// Parses the responses to one request out of an upstream's bytes: interim heads, the head, the body.
package struct ResponseReader {
    /// What ``next()`` found.
    package enum Step: Sendable {
        /// An interim head is followed by another head, any other head by its body.
        case head(ResponseHead)
        case bytes(ByteBuffer)
        /// The end of the response.
        case end(Trailers?)
        case needsMore
    }

    private var parser = ResponseHeadParser()
    private var decoder = BodyDecoder(.none)
    private var method = HTTPMethod.other
    private var buffer = ByteBuffer()
    private var isInBody = false
    /// The response lets the connection serve another request.
    private var keepsAlive = false
    /// How long the connection is kept while no request comes: for as long as the upstream announces, at most
    /// ``longestIdleTime``. One second is subtracted for the time in transit, since a request must not leave while the
    /// upstream is closing the connection.
    package private(set) var idleTime = Self.longestIdleTime
    /// Shorter than 60 s, which is the unannounced timeout of many servers.
    package static let longestIdleTime = Duration.seconds(50)
    /// A byte of a response has come.
    package private(set) var hasBegun = false

    package init() {}

    /// The response has ended, cleanly enough that another may follow on the same connection.
    package var isClean: Bool { self.keepsAlive && self.decoder.isEnded && self.buffer.readableBytes == 0 }

    /// Whether the response ends if the upstream ends its side now.
    package var endsWithClose: Bool { self.isInBody && self.decoder.endsWithClose }

    /// A request was sent: what comes now is its response.
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

    /// Parses the next part out of the bytes that are here.
    ///
    /// - Throws: the violation of HTTP/1.1; the connection must be closed then.
    package mutating func next() throws(WireError) -> Step {
        let step = self.isInBody ? try self.nextOfBody() : try self.nextHead()
        // An empty read buffer need not be held.
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

    /// Takes all bytes that wait here. From here on nothing is a response any more.
    package mutating func takeRest() -> ByteBuffer {
        defer { self = ResponseReader() }
        return self.buffer
    }

    /// Discards the rest of the response, as far as it is here.
    ///
    /// - Returns: whether the response's end was here, and all was well formed.
    package mutating func skipRest() -> Bool {
        while true {
            switch try? self.next() {
            case .bytes: continue
            case .end: return true
            case .head, .needsMore, nil: return false
            }
        }
    }

    /// Whether all of the response is here.
    ///
    /// - Parameter isEnded: the upstream has ended its side.
    package func isWhole(isEnded: Bool) -> Bool {
        var rest = self
        return rest.skipRest() || isEnded && rest.endsWithClose
    }
}
