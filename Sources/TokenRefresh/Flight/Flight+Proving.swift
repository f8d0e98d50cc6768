internal import OAuth
internal import TokenModel
internal import TokenStorage

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
