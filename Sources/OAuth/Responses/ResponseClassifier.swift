package import TokenModel

/// Says what one exchange with a provider came to. Pure: the same outcome always has the same verdict.
package struct ResponseClassifier: Sendable {
    private let rules: ResponseRules

    package init(rules: ResponseRules = ResponseRules()) { self.rules = rules }

    /// Judges what came of a token request (RFC 6749 §5).
    ///
    /// A code that kills the grant counts whatever the status; then waiting as told, then the other codes, then the
    /// status. A 2xx is a success only if all of it fits. Otherwise the provider believes it issued tokens: its new
    /// refresh token is kept where it can be read, and the answer is ambiguous where there is none. A 3xx or 4xx without
    /// the provider's own words is taken for somebody else's, but for an empty 400 or 401: some providers say no so.
    ///
    /// - Parameter now: The wall clock at receipt; the provider's own `Date` is preferred where it gives one.
    package func tokenVerdict(on outcome: ExchangeOutcome, now: WallTime) -> TokenVerdict {
        switch outcome {
        case .notSent(let reason): .notSent(reason)
        case .broken(let reason): .ambiguous(reason)
        case .responded(let answer): self.tokenVerdict(on: answer, now: answer.date ?? now)
        }
    }

    private func tokenVerdict(on answer: ProviderResponse, now: WallTime) -> TokenVerdict {
        let reading = ResponseFields.read(answer)
        let refusal = Refusal(reading)

        if let code = refusal?.code, Self.deadGrant.contains(code.rawValue) { return .dead(code) }
        if answer.status == 429 || answer.status == 503 && answer.retryAfter != nil {
            return .throttled(retryAfter: RetryAfter.read(answer.retryAfter, now: now))
        }
        if let code = refusal?.code {
            if Self.clientRefused.contains(code.rawValue) { return .config(code) }
            if Self.accountRefused.contains(code.rawValue) { return .accountConfig(code) }
            if Self.providerFailed.contains(code.rawValue) { return .ambiguous(code) }
            if code.rawValue == "invalid_request", refusal?.asksToRetry == true { return .conflict(code) }
        }

        switch answer.status {
        case 200..<300:
            if let refusal { return .refused(refusal.code ?? .noKnownReason) }
            return self.success(reading, now: now)
        case 300..<500:
            if let refusal { return .refused(refusal.code ?? .noKnownReason) }
            if let reason = Self.emptyRefusal(answer, reading) { return .refused(reason) }
            return .notProvider(Self.foreignReason(answer, reading))
        default:
            return .ambiguous(refusal?.code ?? .serverError)
        }
    }

    /// How some providers say no without a word.
    static func emptyRefusal(_ answer: ProviderResponse, _ reading: ResponseFields.Reading) -> VerdictReason? {
        [400, 401].contains(answer.status) && reading == .unreadable(.answerEmpty) ? .answerEmpty : nil
    }

    /// What an answer looks like that is somebody else's.
    static func foreignReason(_ answer: ProviderResponse, _ reading: ResponseFields.Reading) -> VerdictReason {
        if (300..<400).contains(answer.status) { return .redirected }
        return if case .unreadable(let reason) = reading { reason } else { .noKnownReason }
    }

    private func success(_ reading: ResponseFields.Reading, now: WallTime) -> TokenVerdict {
        switch reading {
        case .unreadable(let reason):
            return .ambiguous(reason)
        case .fields(let fields):
            do throws(GrantFault) {
                return .success(try TokenGrant(fields, rules: self.rules, now: now))
            } catch {
                return error.rotated.map { .rotated($0, error.reason) } ?? .ambiguous(error.reason)
            }
        }
    }
}

extension VerdictReason {
    /// Whether it is the word of a provider that took the client, and says no to the grant it presented.
    package var saysGrantIsDead: Bool { ResponseClassifier.deadGrant.contains(self.rawValue) }

    /// Whether it is the word of a provider that looked at nothing but the client.
    package var saysClientIsRefused: Bool { ResponseClassifier.clientRefused.contains(self.rawValue) }
}

/// Codes with a meaning of their own, of RFC 6749 §5.2 and of providers that have others.
extension ResponseClassifier {
    fileprivate static let deadGrant: Set<String> = [
        "invalid_grant", "bad_refresh_token", "invalid_refresh_token", "token_revoked",
    ]
    fileprivate static let clientRefused: Set<String> = ["invalid_client", "incorrect_client_credentials"]
    private static let accountRefused: Set<String> = [
        "unauthorized_client", "unsupported_grant_type", "invalid_scope",
    ]
    /// What a 5xx says, under any status; Slack's two even say that part of the work may have been done.
    private static let providerFailed: Set<String> = [
        "server_error", "temporarily_unavailable", "internal_error", "fatal_error",
    ]
}
