import OAuth
import TokenModel

/// 2026-11-19T12:00:00Z
let noon = WallTime(millisecondsSince1970: 1_795_089_600_000)

/// An answer that came whole, as JSON unless said otherwise.
func answer(
    _ status: Int,
    _ body: String,
    type: String? = "application/json",
    encoding: String? = nil,
    retryAfter: String? = nil,
    date: String? = nil,
    end: ProviderResponse.BodyEnd = .proven
) -> ExchangeOutcome {
    .responded(
        ProviderResponse(
            status: status,
            contentType: type,
            contentEncoding: encoding,
            retryAfter: retryAfter,
            date: date,
            body: Secret(body),
            bodyEnd: end
        )
    )
}

/// What the classifier says at noon.
func verdict(_ outcome: ExchangeOutcome, rules: ResponseRules = ResponseRules()) -> TokenVerdict {
    ResponseClassifier(rules: rules).tokenVerdict(on: outcome, now: noon)
}

/// The grant of an answer that must be a success.
func grant(_ outcome: ExchangeOutcome, rules: ResponseRules = ResponseRules()) -> TokenGrant? {
    guard case .success(let grant) = verdict(outcome, rules: rules) else { return nil }
    return grant
}

/// The reason that has this code.
func reason(_ code: String) -> VerdictReason { VerdictReason(code) ?? .noKnownReason }

extension Secret {
    /// In the open, to look at.
    var text: String {
        self.withUnredacted { bytes in String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self) }
    }
}
