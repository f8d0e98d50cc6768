package import NIOCore

/// The part of a request's body that was taken from the caller, kept so that it can be sent (again).
///
/// It is a part of the memory that all bodies share, which gets it back when this value ends, however it does.
package struct KeptBody: ~Copyable {
    private let limit: Int
    private let memory: SharedLimit?
    /// What was taken; `nil` while that is nothing.
    package private(set) var bytes: ByteBuffer?
    /// The route's limit, or that of all bodies, was passed while the body was being sent: it can't be sent again.
    package private(set) var isDropped = false

    /// - Parameters:
    ///   - limit: in bytes.
    ///   - memory: what all bodies may take, in bytes; `nil` for any amount.
    package init(limit: Int, memory: SharedLimit? = nil) {
        self.limit = limit
        self.memory = memory
    }

    deinit {
        if let bytes = self.bytes { self.memory?.leave(bytes.readableBytes) }
    }

    /// Bytes that are kept.
    package var count: Int { self.bytes?.readableBytes ?? 0 }

    /// Nothing of the body has been taken yet.
    package var isEmpty: Bool { self.count == 0 && !self.isDropped }

    /// Whether another piece should be taken before anything can be sent.
    package var hasRoom: Bool { self.count < self.limit && self.memory?.isFull != true }

    /// More is kept than may be sent again.
    package var isOver: Bool { self.count > self.limit }

    /// All bodies together take more than they may.
    package var isMemoryOver: Bool { self.memory?.isOver == true }

    /// Later pieces are copied behind the first, so that many small ones don't hold a read buffer each.
    ///
    /// - Parameter isSent: the piece has gone upstream, so that it may be dropped where there is no room.
    package mutating func keep(_ piece: ByteBuffer, isSent: Bool) {
        guard !self.isDropped else { return }
        let count = piece.readableBytes
        if isSent {
            guard self.count + count <= self.limit, self.memory?.enter(count) != false else { return self.drop() }
        } else {
            self.memory?.take(count)
        }
        if self.bytes == nil {
            self.bytes = piece
        } else {
            self.bytes?.writeImmutableBuffer(piece)
        }
    }

    /// After what was kept has been sent: more than the limit is not kept on.
    package mutating func trim() {
        if self.isOver { self.drop() }
    }

    private mutating func drop() {
        self.memory?.leave(self.count)
        self.isDropped = true
        self.bytes = nil
    }
}
