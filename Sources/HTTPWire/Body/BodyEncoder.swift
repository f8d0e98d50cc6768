package import NIOCore

/// Frames a body on its way out, and refuses what its framing does not allow: the last guard against a second message
/// hidden in the first.
package struct BodyEncoder: Sendable {
    private let framing: BodyFraming
    private var left: Int
    private var hasRefused = false
    /// The end has been written.
    package private(set) var isEnded = false

    /// - Parameter framing: what the message's head says.
    package init(_ framing: BodyFraming) {
        self.framing = framing
        self.left =
            switch framing {
            case .none: 0
            case .length(let length): length
            case .chunked, .untilClose: .max
            }
    }

    /// Whether the reader can tell by the framing that the body has been cut, if the connection ends now.
    package var showsCut: Bool {
        switch self.framing {
        case .length: self.left > 0
        case .chunked: !self.isEnded
        case .none, .untilClose: false
        }
    }

    /// What stands before and behind `count` bytes of content.
    package enum Frame: Equatable, Sendable {
        /// The bytes go as they are.
        case plain
        /// A chunk: this before, CRLF behind.
        case chunk(before: ByteBuffer)
        /// They must not go at all: the message would be longer than its head says.
        case refused
    }

    /// Counts `count` bytes of content in, and says how they go.
    ///
    /// Once refused, nothing more goes and the end is ``End/short``: what was left out can't be mended.
    /// - Parameter count: 0 is no content; it is ``Frame/plain`` and never a chunk, which would be the last.
    package mutating func frame(_ count: Int) -> Frame {
        guard count != 0 else { return .plain }
        guard !self.isEnded, !self.hasRefused, count > 0, count <= self.left else {
            self.hasRefused = true
            return .refused
        }
        guard case .chunked = self.framing else {
            self.left -= count
            return .plain
        }
        var before = ByteBuffer()
        before.reserveCapacity(18)
        before.writeHexadecimal(count)
        before.writeLineEnd()
        return .chunk(before: before)
    }

    /// What the end looks like.
    package enum End: Equatable, Sendable {
        /// Nothing is written.
        case silent
        /// The last chunk, with trailers or without.
        case lastChunk
        /// The end of the connection tells it.
        case close
        /// Less came than the head says, or more and it was refused: the connection must be aborted, never ended cleanly.
        case short
    }

    /// Ends the body. Once is enough: again it is ``End/silent``.
    package mutating func end() -> End {
        guard !self.isEnded else { return .silent }
        self.isEnded = true
        guard !self.hasRefused else { return .short }
        return switch self.framing {
        case .none: .silent
        case .length: self.left == 0 ? .silent : .short
        case .chunked: .lastChunk
        case .untilClose: .close
        }
    }
}

extension ByteBuffer {
    /// CRLF.
    package mutating func writeLineEnd() {
        self.writeInteger(0x0D0A as UInt16)
    }

    mutating func writeHexadecimal(_ value: Int) {
        var shift = max(0, (Int.bitWidth - value.leadingZeroBitCount - 1) / 4 * 4)
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: value >> shift & 0x0F)
            self.writeInteger(digit < 10 ? 0x30 + digit : 0x57 + digit)
            shift -= 4
        }
    }
}
