package import TokenModel

/// Judges the outcome of one exchange with a provider. Pure: the same outcome always has the same verdict.
package struct ResponseClassifier: Sendable {
    private let rules: ResponseRules

    package init(rules: ResponseRules = ResponseRules()) { self.rules = rules }

    /// Judges the outcome of a token request (RFC 6749 §5).
    ///
    /// The first rule that applies decides:
    ///
    /// - An error code that kills the grant, whatever the status.
    /// - A request to wait: 429, or 503 with `Retry-After`.
    /// - Another known error code.
    /// - The status.
    ///
    /// A 2xx is a success only if every field is valid. If one is not, the provider still believes that it issued
    /// tokens: its new refresh token is kept if it can be read, and otherwise the outcome is ambiguous. A 3xx or 4xx
    /// without an OAuth error counts as the response of a proxy or another server, except for an empty 400 or 401, with
    /// which some providers refuse.
    ///
    /// - Parameter now: The wall clock at receipt. The response's own `Date` is used instead if there is one.
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

    /// The reason for a refusal without a body, as some providers send it.
    static func emptyRefusal(_ answer: ProviderResponse, _ reading: ResponseFields.Reading) -> VerdictReason? {
        [400, 401].contains(answer.status) && reading == .unreadable(.answerEmpty) ? .answerEmpty : nil
    }

    /// The reason for a response that is not the provider's.
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
    /// Whether this is the code of a provider that accepted the client and rejected its grant.
    package var saysGrantIsDead: Bool { ResponseClassifier.deadGrant.contains(self.rawValue) }

    /// Whether this is the code of a provider that rejected the client and did not look at anything else.
    package var saysClientIsRefused: Bool { ResponseClassifier.clientRefused.contains(self.rawValue) }
}

/// Error codes with a known meaning: those of RFC 6749 §5.2 and those of particular providers.
extension ResponseClassifier {
    fileprivate static let deadGrant: Set<String> = [
        "invalid_grant", "bad_refresh_token", "invalid_refresh_token", "token_revoked",
    ]
    fileprivate static let clientRefused: Set<String> = ["invalid_client", "incorrect_client_credentials"]
    private static let accountRefused: Set<String> = [
        "unauthorized_client", "unsupported_grant_type", "invalid_scope",
    ]
    /// Codes that mean the same as a 5xx, whatever the status. Slack's two even say that part of the work may have been
    /// done.
    private static let providerFailed: Set<String> = [
        "server_error", "temporarily_unavailable", "internal_error", "fatal_error",
    ]
}

/// How one POST of a form ended on the wire, before it is judged.
package enum ExchangeOutcome: Sendable {
    /// The form was never handed to the connection.
    case notSent(VerdictReason)
    /// The form was handed over, and no response head arrived.
    case broken(VerdictReason)
    /// The form was handed over, and at least the response head arrived.
    case responded(ProviderResponse)
}

extension ResponseClassifier {
    /// Judges the outcome of a revocation request (RFC 7009 §2.2).
    ///
    /// A 200 means that the token is invalid now, whatever the body says, except for providers that refuse with a 200.
    /// If the outcome is uncertain, the token must be assumed to be alive.
    package func revocationVerdict(on outcome: ExchangeOutcome) -> RevocationVerdict {
        switch outcome {
        case .notSent(let reason), .broken(let reason): .unreachable(reason)
        case .responded(let answer): self.revocationVerdict(on: answer)
        }
    }

    private func revocationVerdict(on answer: ProviderResponse) -> RevocationVerdict {
        let reading = ResponseFields.read(answer)
        let refusal = Refusal(reading)
        if let code = refusal?.code, code.saysClientIsRefused { return .clientRefused(code) }
        if refusal?.code?.rawValue == "unsupported_token_type" { return .unsupported }
        switch answer.status {
        case 200..<300:
            if let refusal { return .refused(refusal.code ?? .noKnownReason) }
            return answer.bodyEnd == .cut ? .unreachable(.answerCutShort) : .revoked
        case 429:
            return .unreachable(refusal?.code ?? .tooManyRequests)
        case 300..<500:
            if let refusal { return .refused(refusal.code ?? .noKnownReason) }
            if let reason = Self.emptyRefusal(answer, reading) { return .refused(reason) }
            // A proxy's refusal leaves the token alive.
            return .unreachable(Self.foreignReason(answer, reading))
        default:
            return .unreachable(refusal?.code ?? .serverError)
        }
    }
}

/// The refusal in a response.
struct Refusal {
    /// The provider's error code; `nil` if it has characters that ``VerdictReason`` does not allow.
    let code: VerdictReason?
    /// Whether the description mentions concurrent requests with the same refresh token, as Hydra and other providers
    /// based on fosite do. The text is only searched, never kept.
    let asksToRetry: Bool

    /// `nil` if the response has neither an `error` nor `"ok": false`. An `error` that is empty, `null`, `false` or 0
    /// does not count.
    init?(_ reading: ResponseFields.Reading) {
        guard case .fields(let fields) = reading else { return nil }
        switch fields["error"] {
        case .string(let text) where !text.isEmpty:
            self.code = VerdictReason(text)
        case .number(let number) where number != 0:
            self.code = nil
        case .nested, .boolean(true):
            self.code = nil
        case .string, .number, .null, .boolean(false), nil:
            guard Self.isFalse(fields["ok"]) else { return nil }
            self.code = nil
        }
        self.asksToRetry = ["error_description", "error_hint"].contains { name in
            guard let words = fields[name]?.asText?.lowercased() else { return false }
            return words.contains("multiple concurrent requests") || words.contains("retry the request")
        }
    }

    private static func isFalse(_ value: ResponseValue?) -> Bool {
        value == .boolean(false) || value?.asText == "false"
    }
}

extension VerdictReason {
    fileprivate init?(_ text: Secret) {
        let code = text.count <= 64 ? text.withUnredacted { text in text.indices.map { text[$0] } } : []
        self.init(code: code)
    }
}
