import Testing
import TokenModel

@Suite struct TokenIssuerTests {
    private static let realm = "https://login.example:443/realms/a"
    private static let other = "https://login.example:443/realms/b"

    private static let matches: [(record: TokenIssuer, configured: TokenIssuer, match: TokenIssuer.Match)] = [
        (
            .tokenEndpoint("\(realm)/token"), .tokenEndpoint("\(realm)/token"),
            .same
        ),
        (.tokenEndpoint("\(realm)/token"), .tokenEndpoint("\(other)/token"), .other),
        (.tokenEndpoint("\(realm)/token?a"), .tokenEndpoint("\(realm)/token?b"), .other),
        (.issuer(realm, tokenEndpoint: "\(realm)/t"), .issuer(realm, tokenEndpoint: "\(realm)/t"), .same),
        (.issuer(realm, tokenEndpoint: "\(realm)/t"), .issuer(other, tokenEndpoint: "\(realm)/t"), .other),
        (.issuer(realm, tokenEndpoint: "\(realm)/t"), .issuer(realm, tokenEndpoint: "\(other)/t"), .moved),
        (
            .issuer(realm, tokenEndpoint: "\(realm)/t"), .issuer(realm, tokenEndpoint: "https://evil.example:443/t"),
            .moved
        ),
        (.issuer(realm, tokenEndpoint: "\(realm)/t"), .issuer("\(realm)/", tokenEndpoint: "\(realm)/t"), .other),
        // One of the two does not have the token endpoint yet.
        (.issuer(realm, tokenEndpoint: "\(realm)/t"), .issuer(realm, tokenEndpoint: nil), .same),
        (.issuer(realm, tokenEndpoint: nil), .issuer(realm, tokenEndpoint: "\(realm)/t"), .same),
        // An issuer that is discovered and then named by its endpoint, or the reverse, is the same.
        (.issuer(realm, tokenEndpoint: "\(realm)/t"), .tokenEndpoint("\(realm)/t"), .same),
        (.tokenEndpoint("\(realm)/t"), .issuer(realm, tokenEndpoint: "\(realm)/t"), .same),
        (.issuer(realm, tokenEndpoint: "\(realm)/t"), .tokenEndpoint("\(other)/t"), .other),
        (.tokenEndpoint("\(realm)/t"), .issuer(realm, tokenEndpoint: "\(other)/t"), .other),
        (.issuer(realm, tokenEndpoint: nil), .tokenEndpoint("\(realm)/t"), .other),
        (.tokenEndpoint("\(realm)/t"), .issuer(realm, tokenEndpoint: nil), .other),
        // Records of an earlier version: tokens go only to the origin that the earlier version sent them to.
        (.origin("https://login.example:443"), .tokenEndpoint("\(realm)/token"), .same),
        (.origin("https://login.example:443"), .tokenEndpoint("https://login.example:8443/token"), .other),
        (.origin("https://login.example:443"), .tokenEndpoint("https://login.example.evil:443/token"), .other),
        (.origin("https://login.example:443"), .issuer(realm, tokenEndpoint: nil), .same),
        (.origin("https://login.example:443"), .issuer(realm, tokenEndpoint: "\(realm)/t"), .same),
        // An earlier version sent tokens there too, because many issuers have their endpoints on another host.
        (.origin("https://login.example:443"), .issuer(realm, tokenEndpoint: "https://tokens.example:443/t"), .same),
        (.origin("https://evil.example:443"), .issuer(realm, tokenEndpoint: "https://evil.example:443/t"), .other),
    ]

    @Test(arguments: matches)
    func `tokens belong to one issuer and its endpoint, whatever else is on the host`(
        record: TokenIssuer,
        configured: TokenIssuer,
        match: TokenIssuer.Match
    ) {
        #expect(record.match(configured) == match)
    }

    @Test func `a record adopts missing details from a matching configuration`() {
        let (known, unknown) = (
            TokenIssuer.issuer(Self.realm, tokenEndpoint: "\(Self.realm)/t"),
            TokenIssuer.issuer(Self.realm, tokenEndpoint: nil)
        )
        let (named, former) = (
            TokenIssuer.tokenEndpoint("\(Self.realm)/t"), TokenIssuer.origin("https://login.example:443")
        )
        #expect(former.settled(by: known) == known)
        #expect(former.settled(by: named) == named)
        #expect(unknown.settled(by: known) == known)
        // Known details are kept, and nothing is adopted from a different issuer.
        #expect(former.settled(by: unknown) == former)
        #expect(known.settled(by: unknown) == known)
        let elsewhere = TokenIssuer.issuer(Self.realm, tokenEndpoint: "https://evil.example:443/t")
        for issuer in [known, named] { #expect(issuer.settled(by: elsewhere) == issuer) }
        #expect([known, unknown, named, former].map(\.isSettled) == [true, false, true, false])
    }

    @Test func `the description for operators has no query`() {
        let shown = TokenIssuer.issuer("\(Self.realm)", tokenEndpoint: "\(Self.realm)/t?key=canary").description
        #expect(shown == "issuer \(Self.realm), token endpoint \(Self.realm)/t")
        #expect(TokenIssuer.tokenEndpoint("\(Self.realm)?key=canary").description == "token endpoint \(Self.realm)")
    }
}
