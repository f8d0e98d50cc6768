package import HTTPWire
package import JSONText
package import NIOCore

/// What an upstream says of a token that it does not take any more.
package enum TokenRejection {
    /// The longest body that is inspected, in bytes.
    package static let bodyLimit = 64 << 10

    /// What a response's head tells.
    package enum Evidence: Equatable, Sendable {
        case rejected, accepted
        /// Only the body can tell.
        case inBody
    }

    /// A 401 with no challenge but Bearer ones, or with `error="invalid_token"` (RFC 6750 §3.1), and not one that only
    /// the user can mend (RFC 9470).
    package static func shows(in response: ResponseHead) -> Bool {
        guard response.status == 401 else { return false }
        let challenges = response.challenges
        if challenges.contains(where: { $0.error == .insufficient }) { return false }
        return challenges.allSatisfy(\.isBearer) || challenges.contains { $0.error == .invalidToken }
    }

    /// - Parameter signs: further ones, of the route. One that needs the body counts only where that can be inspected:
    ///   JSON as it stands, of a known length. Everything else passes unheld.
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

/// One more way in which a route's upstream says that a token is dead, beyond the 401 that everybody knows.
package struct TokenRejectionSign: Sendable, Hashable {
    package var status: Int
    /// What the response's JSON must hold besides; `nil` where the status says it all.
    package var body: JSONPattern?

    package init(status: Int, body: JSONPattern? = nil) {
        self.status = status
        self.body = body
    }

    /// - Parameter body: all of it.
    package func isShown(by response: ResponseHead, _ body: ByteBuffer) -> Bool {
        guard self.status == response.status else { return false }
        return self.body?.matches(body.readableBytesUInt8Span) ?? true
    }
}
