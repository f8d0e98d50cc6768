package import HTTPWire

/// What an upstream says of a token that it does not take any more.
package enum DeadToken {
    /// The longest body that is looked at, in bytes.
    package static let bodyLimit = 64 << 10

    /// What an answer's head tells.
    package enum Sight: Equatable, Sendable {
        case dead, alive
        /// Only the body can tell.
        case inBody
    }

    /// A 401 with no challenge but Bearer ones, or with `error="invalid_token"` (RFC 6750 §3.1), and not one that only
    /// the user can mend (RFC 9470).
    package static func shows(in answer: ResponseHead) -> Bool {
        guard answer.status == 401 else { return false }
        let challenges = answer.challenges
        if challenges.contains(where: { $0.error == .insufficient }) { return false }
        return challenges.allSatisfy(\.isBearer) || challenges.contains { $0.error == .invalidToken }
    }

    /// - Parameter signs: further ones, of the route. One that needs the body counts only where that can be looked at:
    ///   JSON as it stands, of a known length. Everything else passes unheld.
    package static func sight(of answer: ResponseHead, signs: [DeadTokenSign]) -> Sight {
        if Self.shows(in: answer) { return .dead }
        var needsBody = false
        for sign in signs where sign.status == answer.status {
            guard sign.body != nil else { return .dead }
            needsBody = true
        }
        return needsBody && Self.isReadable(answer) ? .inBody : .alive
    }

    private static func isReadable(_ answer: ResponseHead) -> Bool {
        guard case .length(1...Self.bodyLimit) = answer.body else { return false }
        return answer.isPlainJSON
    }
}
