extension TokenVerdict {
    /// What it means where no refresh token is at stake: nothing can be dead, and a refresh token that comes along is of
    /// no use (RFC 6749 §4.4.3).
    package var ofMint: TokenVerdict {
        switch self {
        case .dead(let reason): .refused(reason)
        case .rotated(_, let reason): .ambiguous(reason)
        default: self
        }
    }
}
