package import TokenModel
package import TokenStorage

/// Which of the client's proofs a flight shows first, and which then: the one that was taken last, as far as this process or
/// the account's record knows, then the others as they are configured.
///
/// Some servers spend a refresh token on a request with a wrong secret, so that the first try must be the right one, also in
/// a process that has just begun.
package struct ProofOrder: Equatable, Sendable {
    /// By number, in the order of the process; `nil` for what is no secret. Never empty.
    private let digests: [TokenDigest?]
    /// When the first of them was taken from this process last; `nil`: not yet.
    private let acceptedAt: WallTime?
    private var first = 0
    /// How many were tried before the current one.
    private var turn = 0

    package init(digests: [TokenDigest?] = [nil], acceptedAt: WallTime? = nil) {
        self.digests = digests.isEmpty ? [nil] : digests
        self.acceptedAt = acceptedAt
    }

    /// The number of the one to show now.
    package var current: Int { self.turn == 0 ? self.first : self.turn <= self.first ? self.turn - 1 : self.turn }

    /// What is kept of it in a record; `nil` for what is no secret, and where there is no choice.
    var digest: TokenDigest? { self.digests.count > 1 ? self.digests[self.current] : nil }

    /// Begins with what the record says was taken, unless this process knows better, or has begun already.
    mutating func prefer(_ record: AccountRecord) {
        guard self.turn == 0, let accepted = record.acceptedProof,
            let first = self.digests.firstIndex(of: accepted)
        else { return }
        if let acceptedAt, record.refreshedAt.map({ $0 < acceptedAt }) ?? true { return }
        self.first = first
    }

    /// Goes on to the next.
    ///
    /// - Returns: whether there is one.
    mutating func advance() -> Bool {
        guard self.turn + 1 < self.digests.count else { return false }
        self.turn += 1
        return true
    }

    /// Begins anew, for another question.
    mutating func restart() { self.turn = 0 }
}
