package import HTTPWire

/// What an upstream says of a token that it does not take any more.
package enum DeadToken {
    /// A 401 with no challenge but Bearer ones, or with `error="invalid_token"` (RFC 6750 §3.1), and not one that only
    /// the user can mend (RFC 9470).
    package static func shows(in answer: ResponseHead) -> Bool {
        guard answer.status == 401 else { return false }
        let challenges = answer.challenges
        if challenges.contains(where: { $0.error == .insufficient }) { return false }
        return challenges.allSatisfy(\.isBearer) || challenges.contains { $0.error == .invalidToken }
    }
}
