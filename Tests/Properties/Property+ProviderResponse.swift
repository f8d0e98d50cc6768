import OAuth
import TokenModel

extension Property {
    /// Every provider response has one verdict, which is the same each time and contains only values that may be shown
    /// and used. No token is invalid in a header field, no lifetime or wait is out of bounds, and only a success status
    /// code yields a success.
    ///
    /// The input consists of lines: status, content type, content encoding, `Retry-After`, `Date`, and how the body
    /// ended. The body follows.
    package static let providerResponse = Property("ProviderResponse") { input in
        let parts = input.split(separator: 0x0A, maxSplits: 6, omittingEmptySubsequences: false)
        guard parts.count == 7 else { return }
        let words = parts.prefix(6).map { $0.isEmpty ? nil : String(decoding: $0, as: UTF8.self) }
        let answer = ProviderResponse(
            status: words[0].flatMap { Int($0) } ?? 200,
            contentType: words[1],
            contentEncoding: words[2],
            retryAfter: words[3],
            date: words[4],
            body: Secret(Array(parts[6])),
            bodyEnd: ProviderResponse.BodyEnd.allCases.first { "\($0)" == words[5] } ?? .proven
        )
        let classifier = ResponseClassifier()
        let now = WallTime(millisecondsSince1970: 1_763_683_200_000)
        let verdict = classifier.tokenVerdict(on: .responded(answer), now: now)
        try require(classifier.tokenVerdict(on: .responded(answer), now: now) == verdict, "two verdicts")
        try Self.check(verdict, of: answer)
        switch verdict.ofMint {
        case .dead, .rotated: throw Violation("a mint has no grant to lose")
        default: break
        }

        let revocation = classifier.revocationVerdict(on: .responded(answer))
        try require(classifier.revocationVerdict(on: .responded(answer)) == revocation, "two verdicts of a revocation")
        try Self.check(revocation.reason)
        if case .revoked = revocation {
            try require((200..<300).contains(answer.status), "revoked by \(answer.status)")
        }
    }

    private static func check(_ verdict: TokenVerdict, of answer: ProviderResponse) throws {
        try Self.check(verdict.reason)
        switch verdict {
        case .success(let grant):
            try Self.check(answer)
            try require(!grant.accessToken.isEmpty, "an empty access token")
            try grant.accessToken.withUnredacted { token in
                for index in token.indices where token[index] <= 0x20 || token[index] >= 0x7F {
                    throw Violation("an access token that could not stand in a field")
                }
            }
            try require(grant.lifetime >= .seconds(1) && grant.lifetime <= .seconds(86_400), "a lifetime out of bounds")
            try Self.check(grant.refreshToken, grant.refreshLifetime)
            for scope in grant.scopes {
                try require(
                    !scope.isEmpty && scope.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C },
                    "a scope that is no word"
                )
            }
        case .rotated(let rotated, _):
            try Self.check(answer)
            try Self.check(rotated.refreshToken, rotated.refreshLifetime)
        case .throttled(let wait):
            try require(wait >= .seconds(1) && wait <= .seconds(300), "a wait out of bounds")
        case .notSent: throw Violation("an answer to what was not sent")
        case .dead(let reason), .config(let reason), .accountConfig(let reason):
            try require(Self.says(answer, reason), "a grant or a client ended by what the provider did not say")
        case .notProvider:
            try require((300..<500).contains(answer.status), "not the provider, by \(answer.status)")
        case .ambiguous, .conflict, .refused: break
        }
    }

    /// Whether the response contains the reason code and is no HTML page. The code may be written with escapes.
    private static func says(_ answer: ProviderResponse, _ reason: VerdictReason) -> Bool {
        answer.body.withUnredacted { body in
            let text = String(decoding: body.indices.map { body[$0] }, as: UTF8.self)
            let start = text.drop { $0.isWhitespace || $0 == "\u{FEFF}" }.first
            return start != "<" && (text.contains(reason.rawValue) || text.contains("\\") || text.contains("%"))
        }
    }

    /// Checks the response that a success came from.
    private static func check(_ answer: ProviderResponse) throws {
        try require((200..<300).contains(answer.status), "a success by \(answer.status)")
        try require(answer.bodyEnd != .tooLarge && answer.body.count <= ProviderResponse.bodyLimit, "of too much")
        try require(answer.contentEncoding == nil || answer.contentEncoding?.lowercased() == "identity", "compressed")
    }

    private static func check(_ refreshToken: Secret?, _ lifetime: Duration?) throws {
        guard let refreshToken else { return }
        try require(!refreshToken.isEmpty, "an empty refresh token")
        try refreshToken.withUnredacted { token in
            for index in token.indices where token[index] < 0x20 || token[index] == 0x7F {
                throw Violation("a refresh token that would not come back as it was sent")
            }
        }
        if let lifetime {
            try require(lifetime >= .seconds(1) && lifetime <= .seconds(315_360_000), "a lifetime out of bounds")
        }
    }

    private static func check(_ reason: VerdictReason?) throws {
        guard let reason = reason?.rawValue else { return }
        try require(
            (1...64).contains(reason.utf8.count)
                && reason.utf8.allSatisfy { $0 >= 0x61 && $0 <= 0x7A || $0 == 0x5F || $0 == 0x2E || $0 == 0x2D },
            "a reason that may not be shown"
        )
    }
}
