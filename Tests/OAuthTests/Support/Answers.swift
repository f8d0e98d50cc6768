import OAuth
import TokenModel

/// 2026-11-19T12:00:00Z
let noon = WallTime(millisecondsSince1970: 1_795_089_600_000)

/// A response. By default, it is complete and JSON.
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

/// The verdict of the classifier at ``noon``.
func verdict(_ outcome: ExchangeOutcome, rules: ResponseRules = ResponseRules()) -> TokenVerdict {
    ResponseClassifier(rules: rules).tokenVerdict(on: outcome, now: noon)
}

/// The grant of a successful response, or `nil` if the verdict is not a success.
func grant(_ outcome: ExchangeOutcome, rules: ResponseRules = ResponseRules()) -> TokenGrant? {
    guard case .success(let grant) = verdict(outcome, rules: rules) else { return nil }
    return grant
}

/// The reason with this code, or `noKnownReason` if there is none.
func reason(_ code: String) -> VerdictReason { VerdictReason(code) ?? .noKnownReason }

extension Secret {
    /// The secret as plain text.
    var text: String {
        self.withUnredacted { bytes in String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self) }
    }
}
