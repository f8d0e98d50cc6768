package import HTTPWire
package import JSONText
package import NIOCore

/// One more way in which a route's upstream says that a token is dead, beyond the 401 that everybody knows.
package struct DeadTokenSign: Sendable, Hashable {
    package var status: Int
    /// What the answer's JSON must hold besides; `nil` where the status says it all.
    package var body: JSONPattern?

    package init(status: Int, body: JSONPattern? = nil) {
        self.status = status
        self.body = body
    }

    /// - Parameter body: all of it.
    package func isShown(by answer: ResponseHead, _ body: ByteBuffer) -> Bool {
        guard self.status == answer.status else { return false }
        return self.body?.matches(body.readableBytesUInt8Span) ?? true
    }
}
