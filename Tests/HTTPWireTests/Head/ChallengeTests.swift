import HTTPWire
import Testing

/// Values of `WWW-Authenticate` fields, and the challenges in them.
struct ChallengeCase: Sendable, CustomTestStringConvertible {
    let values: [String]
    let challenges: [Challenge]

    var testDescription: String { self.values.joined(separator: " | ") }

    init(_ values: String..., means challenges: [Challenge]) {
        self.values = values
        self.challenges = challenges
    }
}

extension Challenge {
    /// A Bearer challenge.
    fileprivate static func bearer(_ error: BearerError? = nil) -> Challenge {
        var challenge = Challenge.read("Bearer")[0]
        challenge.error = error
        return challenge
    }

    /// A challenge of another scheme.
    fileprivate static func foreign(_ error: BearerError? = nil) -> Challenge {
        var challenge = Challenge.bearer(error)
        challenge.isBearer = false
        return challenge
    }

    fileprivate static func read(_ values: String...) -> [Challenge] { read(values) }

    fileprivate static func read(_ values: [String]) -> [Challenge] {
        let answer = head(["HTTP/1.1 401 Unauthorized"] + values.map { "WWW-Authenticate: \($0)" })
        return readAnswer([answer[...]]).summary?.challenges ?? []
    }
}

@Suite struct ChallengeTests {
    @Test(
        arguments: [
            ChallengeCase("", means: []),
            ChallengeCase("Bearer", means: [.bearer()]),
            ChallengeCase("bEARER", means: [.bearer()]),
            ChallengeCase("Bearerx", means: [.foreign()]),
            ChallengeCase("Basic", means: [.foreign()]),
            ChallengeCase("Bearer error=\"invalid_token\"", means: [.bearer(.invalidToken)]),
            ChallengeCase("Bearer error=invalid_token", means: [.bearer(.invalidToken)]),
            ChallengeCase("Bearer ERROR = \t\"Invalid_Token\"", means: [.bearer(.invalidToken)]),
            ChallengeCase("Bearer realm=\"a, Basic b\", error=\"invalid_token\"", means: [.bearer(.invalidToken)]),
            ChallengeCase("Bearer realm=\"a \\\" Basic\", error=\"invalid_token\"", means: [.bearer(.invalidToken)]),
            ChallengeCase("Bearer realm=\"a\\\\\", error=\"invalid_token\"", means: [.bearer(.invalidToken)]),
            ChallengeCase("Bearer error=\"invalid\\_token\"", means: [.bearer(.invalidToken)]),
            ChallengeCase("Bearer realm=\"\", error=\"invalid_token\"", means: [.bearer(.invalidToken)]),
            ChallengeCase("Bearer error_description=\"error=invalid_token\"", means: [.bearer()]),
            ChallengeCase("Bearer error=\"invalid_request\"", means: [.bearer(.other)]),
            ChallengeCase("Bearer error=\"invalid_token2\"", means: [.bearer(.other)]),
            ChallengeCase("Bearer error=\"\"", means: [.bearer(.other)]),
            ChallengeCase("Bearer error=\"insufficient_scope\"", means: [.bearer(.other)]),
            ChallengeCase("Bearer error=\"insufficient_claims\", claims=\"e30=\"", means: [.bearer(.insufficient)]),
            ChallengeCase(
                "Bearer error=\"insufficient_user_authentication\", acr_values=\"a b\"",
                means: [.bearer(.insufficient)]
            ),
            // Several challenges in one field.
            ChallengeCase("Bearer, Basic realm=\"x\"", means: [.bearer(), .foreign()]),
            ChallengeCase(
                ", ,Basic realm=\"x\",,Bearer error=invalid_token,",
                means: [.foreign(), .bearer(.invalidToken)]
            ),
            ChallengeCase("Negotiate, Bearer", means: [.foreign(), .bearer()]),
            ChallengeCase("Bearer a=b, Bearer error=invalid_token", means: [.bearer(), .bearer(.invalidToken)]),
            ChallengeCase(
                "Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic realm=\"simple\"",
                means: [.foreign(), .foreign()]
            ),
            ChallengeCase("DPoP error=\"invalid_token\", Bearer", means: [.foreign(.invalidToken), .bearer()]),
            // token68.
            ChallengeCase("Negotiate YII/abc+d==, Bearer", means: [.foreign(), .bearer()]),
            ChallengeCase(
                "Negotiate TlRMTVNTUAAC, Bearer error=invalid_token",
                means: [.foreign(), .bearer(.invalidToken)]
            ),
            ChallengeCase("NTLM TlRM=", means: [.foreign()]),
            ChallengeCase("Bearer abc123", means: [.bearer()]),
            ChallengeCase("Bearer error=", means: [.bearer()]),
            ChallengeCase("Bearer a/b , Basic", means: [.bearer(), .foreign()]),
            // Several fields.
            ChallengeCase(
                "Basic realm=\"x\"",
                "Bearer error=\"invalid_token\"",
                means: [.foreign(), .bearer(.invalidToken)]
            ),
            ChallengeCase(
                "Bearer realm=\"x",
                "Bearer error=invalid_token",
                means: [.bearer(), .bearer(.invalidToken)]
            ),
            // Malformed challenges that occur in practice.
            ChallengeCase("error=\"invalid_token\"", means: []),
            ChallengeCase("Bearer realm=\"x\" error=\"invalid_token\"", means: [.bearer(.invalidToken)]),
            ChallengeCase("Bearer realm=https://a/b?c, error=\"invalid_token\"", means: [.bearer(.invalidToken)]),
            ChallengeCase("Bearer realm=\"x\" junk, error=\"invalid_token\"", means: [.bearer(.invalidToken)]),
            ChallengeCase("Bearer realm=\"x\"\"a, Basic\", error=invalid_token", means: [.bearer(.invalidToken)]),
            ChallengeCase("\"Bearer\", Basic", means: [.foreign()]),
            ChallengeCase("=, Bearer", means: [.bearer()]),
            ChallengeCase("Bearer = x, error=invalid_token", means: []),
            ChallengeCase("Bearer error=\"invalid_token", means: [.bearer(.invalidToken)]),
            ChallengeCase("Bearer error=\"invalid_token\\", means: [.bearer(.other)]),
            ChallengeCase("Bearer error=\"", means: [.bearer(.other)]),
            ChallengeCase("Bearer error=\"\\", means: [.bearer(.other)]),
            ChallengeCase("\\\"\\\"\\", means: []),
            ChallengeCase("\u{FF}\u{80}, Bearer \u{E9}", means: [.bearer()]),
        ]
    )
    func `challenges are read with their scheme and error`(_ row: ChallengeCase) {
        #expect(Challenge.read(row.values) == row.challenges)
    }

    @Test func `a response without the field has no challenge`() {
        #expect(Challenge.read() == [])
    }
}
