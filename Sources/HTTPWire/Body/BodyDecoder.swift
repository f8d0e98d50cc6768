package import NIOCore

/// Takes one message's body off a byte stream, whatever frames it. Bytes come out as slices of what came in.
package struct BodyDecoder: Sendable {
    /// What ``next(_:)`` found.
    package enum Step: Equatable, Sendable {
        /// Content. Never empty.
        case bytes(ByteBuffer)
        /// The end; nothing more will come. Field lines of a chunked body's trailer section, unchecked for their meaning.
        case end(Trailers?)
        /// Nothing more can be said before more bytes come.
        case needsMore
    }

    private enum State: Sendable {
        case length(Int)
        case chunked(ChunkedDecoder)
        case untilClose
        case ended
    }

    private var state: State

    /// - Parameter framing: what the message's head says.
    package init(_ framing: BodyFraming) {
        switch framing {
        case .none, .length(0): self.state = .length(0)
        case .length(let length): self.state = .length(length)
        case .chunked: self.state = .chunked(ChunkedDecoder())
        case .untilClose: self.state = .untilClose
        }
    }

    /// The end has been given out.
    package var isEnded: Bool {
        if case .ended = self.state { true } else { false }
    }

    /// Whether the peer closing its side now is a clean end.
    package var endsWithClose: Bool {
        if case .untilClose = self.state { true } else { false }
    }

    /// Takes what comes next from the front of `buffer`.
    ///
    /// - Throws: ``WireError/Code/badRequest`` for a malformed chunk, ``WireError/Code/headTooLarge`` for trailers past
    ///   16 KiB, 32 fields or 8 KiB in one. The message is no good then, whatever follows.
    package mutating func next(_ buffer: inout ByteBuffer) throws(WireError) -> Step {
        switch self.state {
        case .length(0):
            self.state = .ended
            return .end(nil)
        case .length(let left):
            guard let slice = buffer.readSlice(length: min(left, buffer.readableBytes)), slice.readableBytes > 0 else {
                return .needsMore
            }
            self.state = .length(left - slice.readableBytes)
            return .bytes(slice)
        case .chunked(var decoder):
            defer { if case .chunked = self.state { self.state = .chunked(decoder) } }
            let step = try decoder.next(&buffer)
            if case .end = step { self.state = .ended }
            return step
        case .untilClose:
            guard let slice = buffer.readSlice(length: buffer.readableBytes), slice.readableBytes > 0 else {
                return .needsMore
            }
            return .bytes(slice)
        case .ended:
            return .needsMore
        }
    }
}
