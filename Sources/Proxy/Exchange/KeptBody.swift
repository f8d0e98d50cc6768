package import NIOCore

/// The part of a request's body that was taken from the caller, kept so that it can be sent (again).
package struct KeptBody {
    private let limit: Int
    /// What was taken; `nil` while that is nothing.
    package private(set) var bytes: ByteBuffer?
    /// The route's limit was passed while the body was being sent: it can't be sent again.
    package private(set) var isDropped = false

    /// - Parameter limit: in bytes.
    package init(limit: Int) {
        self.limit = limit
    }

    /// Bytes that are kept.
    package var count: Int { self.bytes?.readableBytes ?? 0 }

    /// Nothing of the body has been taken yet.
    package var isEmpty: Bool { self.count == 0 && !self.isDropped }

    /// Whether another piece should be taken before anything can be sent.
    package var hasRoom: Bool { self.count < self.limit }

    /// More is kept than may be sent again.
    package var isOver: Bool { self.count > self.limit }

    /// Later pieces are copied behind the first, so that many small ones don't hold a read buffer each.
    ///
    /// - Parameter isSent: the piece has gone upstream, so that it may be dropped where there is no room.
    package mutating func keep(_ piece: ByteBuffer, isSent: Bool) {
        guard !self.isDropped else { return }
        guard !isSent || self.count + piece.readableBytes <= self.limit else { return self.drop() }
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
        self.isDropped = true
        self.bytes = nil
    }
}
