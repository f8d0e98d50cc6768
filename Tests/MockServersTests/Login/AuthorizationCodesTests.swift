import MockServers
import Testing

@Suite struct AuthorizationCodesTests {
    // The example of RFC 7636, appendix B.
    static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    static let plain = AuthorizationRequest(account: "a0", scope: "read", redirectURI: "http://app/cb", challenge: nil)
    static let proven = AuthorizationRequest(
        account: "a0",
        scope: nil,
        redirectURI: "http://app/cb",
        challenge: Self.challenge,
        nonce: "n1"
    )

    @Test func `the challenge of a verifier is the one of RFC 7636`() {
        #expect(AuthorizationCodes.challenge(of: Self.verifier) == Self.challenge)
    }

    struct Attempt: CustomTestStringConvertible {
        let what: String
        var request = AuthorizationCodesTests.proven
        var code = "c1"
        var redirectURI: String? = "http://app/cb"
        var verifier: String? = AuthorizationCodesTests.verifier
        var at = 59.0
        var works = false

        var testDescription: String { self.what }
    }

    @Test(arguments: [
        Attempt(what: "the right verifier", works: true),
        Attempt(what: "no challenge, no verifier", request: Self.plain, verifier: nil, works: true),
        Attempt(what: "the verifier is missing", verifier: nil),
        Attempt(what: "another verifier", verifier: "another"),
        Attempt(what: "a verifier nobody asked for", request: Self.plain),
        Attempt(what: "another redirect URI", redirectURI: "http://app/other"),
        Attempt(what: "no redirect URI", redirectURI: nil),
        Attempt(what: "an unknown code", code: "c2"),
        Attempt(what: "a minute too late", at: 60),
    ])
    func `a code works only for the request it was issued for`(attempt: Attempt) {
        var book = AuthorizationCodes()
        book.issue("c1", for: attempt.request, at: .second(0))

        let redemption = Result { () throws(GrantRefusal) in
            try book.redeem(
                attempt.code,
                redirectURI: attempt.redirectURI,
                verifier: attempt.verifier,
                at: .second(attempt.at)
            )
        }

        let signIn = ApprovedSignIn(
            account: attempt.request.account,
            scope: attempt.request.scope,
            nonce: attempt.request.nonce,
            at: .second(0)
        )
        #expect(redemption == (attempt.works ? .success(.approved(signIn)) : .failure(.init(.invalidGrant, ""))))
    }

    @Test func `a replayed code names the token family it yielded, so that it can be revoked`() throws {
        var book = AuthorizationCodes()
        book.issue("c1", for: Self.plain, at: .second(0))
        book.close("c1", family: 7)

        #expect(
            try book.redeem("c1", redirectURI: "http://app/cb", verifier: nil, at: .second(1)) == .replayed(family: 7)
        )
    }
}
