internal import OAuth
package import TokenModel
package import TokenStorage

/// Immediate second tries after a refusal: with another proof of the client, or with a sign-in in place of a refresh
/// token. A refused request has spent nothing.
extension Flight {
    /// Tries the client's next proof; `nil` if the refusal is not about the proof or no proof is left.
    mutating func proveAgain(after verdict: TokenVerdict) -> FlightAction? {
        switch verdict {
        case .config:
            break
        // At some providers the response to a wrong secret looks like any other refusal. A response that names the
        // grant is not about the secret.
        case .refused(let reason) where !reason.saysGrantIsDead:
            self.refusal = self.refusal ?? reason
        case .success, .rotated, .dead, .accountConfig, .throttled, .notSent, .ambiguous, .conflict, .refused,
            .notProvider:
            return nil
        }
        guard self.proofs.advance() else { return nil }
        return self.claimForAnother()
    }

    /// Signs in once if the provider refuses the refresh token from an earlier sign-in; `nil` if it accepts that token,
    /// if none was sent, or if the account can't sign in.
    mutating func signIn(after verdict: TokenVerdict) -> FlightAction? {
        guard self.plan.signsIn, let basis = self.basis, basis.refreshToken != nil else { return nil }
        switch verdict {
        // `.rotated` brings a refresh token without an access token, and a sign-in is more useful than that.
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

    /// Renews the claim, as before every repeated exchange, so that it leaves time for a whole one.
    private mutating func claimForAnother() -> FlightAction {
        self.mustRenew = true
        return self.claim()
    }
}

extension Flight.Basis {
    /// The basis without the refresh token. The record drops it too, so that the next flight need not find out again.
    fileprivate var signingIn: Flight.Basis {
        var record = self.record
        record.tokens?.refreshToken = nil
        record.tokens?.refreshLifetime = nil
        return Flight.Basis(record: record, refreshToken: nil, spent: .no, isLastUse: false)
    }
}

/// The order in which a flight tries the client's proofs (for example two client secrets). The proof that was accepted
/// last comes first, as far as this process or the account's record knows. The others follow in the order of the
/// configuration.
///
/// Some servers spend a refresh token on a request with a wrong secret. So the first try must be the right one, even in
/// a process that has just started.
package struct ProofOrder: Equatable, Sendable {
    /// The digests of the proofs by their numbers in this process; `nil` for a proof that is not a secret. Never empty.
    private let digests: [TokenDigest?]
    /// When the provider last accepted the first proof from this process; `nil` if it has not yet.
    private let acceptedAt: WallTime?
    private var first = 0
    /// The number of proofs tried before the current one.
    private var turn = 0

    package init(digests: [TokenDigest?] = [nil], acceptedAt: WallTime? = nil) {
        self.digests = digests.isEmpty ? [nil] : digests
        self.acceptedAt = acceptedAt
    }

    /// The number of the proof to try now.
    package var current: Int { self.turn == 0 ? self.first : self.turn <= self.first ? self.turn - 1 : self.turn }

    /// The digest that a record stores for the current proof; `nil` if it is not a secret, or there is only one proof.
    var digest: TokenDigest? { self.digests.count > 1 ? self.digests[self.current] : nil }

    /// Begins with the proof that the record names as accepted, unless this process knows a later result or has tried
    /// one already.
    mutating func prefer(_ record: AccountRecord) {
        guard self.turn == 0, let accepted = record.acceptedProof,
            let first = self.digests.firstIndex(of: accepted)
        else { return }
        if let acceptedAt, record.refreshedAt.map({ $0 < acceptedAt }) ?? true { return }
        self.first = first
    }

    /// Moves to the next proof.
    ///
    /// - Returns: whether there is a next proof.
    mutating func advance() -> Bool {
        guard self.turn + 1 < self.digests.count else { return false }
        self.turn += 1
        return true
    }

    /// Begins anew, for another kind of request.
    mutating func restart() { self.turn = 0 }
}
