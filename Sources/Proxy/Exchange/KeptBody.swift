package import NIOCore

/// The part of a request body that was read from the caller and is kept to be sent, or sent again.
///
/// It counts against the memory limit that all bodies share until this value is destroyed.
package struct KeptBody: ~Copyable {
    private let limit: Int
    private let memory: SharedLimit?
    /// The kept bytes; `nil` while there are none.
    package private(set) var bytes: ByteBuffer?
    /// The body exceeded the route's limit, or that of all bodies, while it was being sent: it can't be sent again.
    package private(set) var isDropped = false

    /// - Parameters:
    ///   - limit: the route's limit, in bytes.
    ///   - memory: what all bodies together may take, in bytes; `nil` for no limit.
    package init(limit: Int, memory: SharedLimit? = nil) {
        self.limit = limit
        self.memory = memory
    }

    deinit {
        if let bytes = self.bytes { self.memory?.leave(bytes.readableBytes) }
    }

    /// The number of kept bytes.
    package var count: Int { self.bytes?.readableBytes ?? 0 }

    /// Nothing of the body has been read yet.
    package var isEmpty: Bool { self.count == 0 && !self.isDropped }

    /// Whether another piece should be read before anything can be sent.
    package var hasRoom: Bool { self.count < self.limit && self.memory?.isFull != true }

    /// More is kept than may be sent again.
    package var isOver: Bool { self.count > self.limit }

    /// All bodies together take more memory than they may.
    package var isMemoryOver: Bool { self.memory?.isOver == true }

    /// Keeps a piece of the body. Later pieces are copied behind the first, so that many small ones don't hold a read
    /// buffer each.
    ///
    /// - Parameter isSent: the piece has gone upstream, so the body may be dropped where there is no room.
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

    /// Drops a body above the limit, after it has been sent.
    package mutating func trim() {
        if self.isOver { self.drop() }
    }

    private mutating func drop() {
        self.memory?.leave(self.count)
        self.isDropped = true
        self.bytes = nil
    }
}
