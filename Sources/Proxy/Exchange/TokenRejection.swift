package import HTTPWire
package import NIOCore
package import TextCoding

/// Detects that an upstream rejects a token.
package enum TokenRejection {
    /// The longest body that is inspected, in bytes.
    package static let bodyLimit = 64 << 10

    /// What a response head shows.
    package enum Evidence: Equatable, Sendable {
        case rejected, accepted
        /// Only the body can tell.
        case inBody
    }

    /// Whether a response rejects the token: a 401 with no challenge but Bearer ones, or with `error="invalid_token"`
    /// (RFC 6750 §3.1). A 401 that only the user can resolve (RFC 9470) does not count.
    package static func shows(in response: ResponseHead) -> Bool {
        guard response.status == 401 else { return false }
        let challenges = response.challenges
        if challenges.contains(where: { $0.error == .insufficient }) { return false }
        return challenges.allSatisfy(\.isBearer) || challenges.contains { $0.error == .invalidToken }
    }

    /// - Parameter signs: the route's further signs. A sign that needs the body counts only where that can be
    ///   inspected: uncompressed JSON of a known length. Every other response passes without being held.
    package static func evidence(of response: ResponseHead, signs: [TokenRejectionSign]) -> Evidence {
        if Self.shows(in: response) { return .rejected }
        var needsBody = false
        for sign in signs where sign.status == response.status {
            guard sign.body != nil else { return .rejected }
            needsBody = true
        }
        return needsBody && Self.isReadable(response) ? .inBody : .accepted
    }

    private static func isReadable(_ response: ResponseHead) -> Bool {
        guard case .length(1...Self.bodyLimit) = response.body else { return false }
        return response.isPlainJSON
    }
}

/// A further way in which a route's upstream says that a token is dead, besides the usual 401.
package struct TokenRejectionSign: Sendable, Hashable {
    package var status: Int
    /// What the response's JSON must contain as well; `nil` where the status is enough.
    package var body: JSONPattern?

    package init(status: Int, body: JSONPattern? = nil) {
        self.status = status
        self.body = body
    }

    /// - Parameter body: the whole body.
    package func isShown(by response: ResponseHead, _ body: ByteBuffer) -> Bool {
        guard self.status == response.status else { return false }
        return self.body?.matches(body.readableBytesUInt8Span) ?? true
    }
}
