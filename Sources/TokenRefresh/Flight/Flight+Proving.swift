internal import OAuth
package import TokenModel
package import TokenStorage

/// What is tried at once where the provider did not take what it was shown: another proof of the client, or a sign-in in
/// place of a refresh token. A request that was refused has spent nothing.
extension Flight {
    /// Shows the client's next proof; `nil` where the answer is not about the proof, or none is left.
    mutating func proveAgain(after verdict: TokenVerdict) -> FlightAction? {
        switch verdict {
        case .config:
            break
        // At some providers a wrong secret looks like any other refusal; where the grant is named it is none.
        case .refused(let reason) where !reason.saysGrantIsDead:
            self.refusal = self.refusal ?? reason
        case .success, .rotated, .dead, .accountConfig, .throttled, .notSent, .ambiguous, .conflict, .refused,
            .notProvider:
            return nil
        }
        guard self.proofs.advance() else { return nil }
        return self.claimForAnother()
    }

    /// Signs in, once, where the provider does not take the refresh token that an earlier sign-in brought; `nil` where it
    /// does, where none was shown, and where the account can't sign in.
    mutating func signIn(after verdict: TokenVerdict) -> FlightAction? {
        guard self.plan.signsIn, let basis = self.basis, basis.refreshToken != nil else { return nil }
        switch verdict {
        // One that came without an access token is of less use than a sign-in, too.
        case .dead, .rotated:
            self.lesson = .accepted
        case .refused:
            self.proofs.restart()
        case .config where self.refusal != nil:
            self.proofs.restart()
        case .success, .config, .accountConfig, .throttled, .notSent, .ambiguous, .conflict, .notProvider:
            return nil
        }
        self.refusal = nil
        self.basis = basis.signingIn
        return self.claimForAnother()
    }

    /// Writes the claim anew, as before every second exchange, so that it has time for a whole one.
    private mutating func claimForAnother() -> FlightAction {
        self.mustRenew = true
        return self.claim()
    }
}

extension Flight.Basis {
    /// Without the refresh token, in the record too: the next flight need not find out again.
    fileprivate var signingIn: Flight.Basis {
        var record = self.record
        record.tokens?.refreshToken = nil
        record.tokens?.refreshLifetime = nil
        return Flight.Basis(record: record, refreshToken: nil, spent: .no, isLastUse: false)
    }
}

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
