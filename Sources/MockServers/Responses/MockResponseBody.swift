package import NIOCore

/// What follows the head of an answer.
package enum MockResponseBody: Equatable, Sendable {
    case empty
    case whole(ByteBuffer)

    /// So many bytes of ``BytePattern``, made while they are sent.
    case pattern(count: Int)

    /// So many server-sent events, the first at once.
    case events(count: Int, every: Duration)

    /// What `Content-Length` says; nil where the length is not known beforehand.
    package var length: Int? {
        switch self {
        case .empty: 0
        case .whole(let bytes): bytes.readableBytes
        case .pattern(let count): count
        case .events: nil
        }
    }

    /// The first half, rounded down.
    package var firstHalf: MockResponseBody {
        switch self {
        case .empty: .empty
        case .whole(let bytes): .whole(bytes.getSlice(at: bytes.readerIndex, length: bytes.readableBytes / 2) ?? bytes)
        case .pattern(let count): .pattern(count: count / 2)
        case .events(let count, let every): .events(count: count / 2, every: every)
        }
    }
}
