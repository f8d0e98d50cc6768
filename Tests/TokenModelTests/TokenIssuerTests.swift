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
        // What one of them does not say yet.
        (.issuer(realm, tokenEndpoint: "\(realm)/t"), .issuer(realm, tokenEndpoint: nil), .same),
        (.issuer(realm, tokenEndpoint: nil), .issuer(realm, tokenEndpoint: "\(realm)/t"), .same),
        // One that is discovered and then named, and the other way round, is the same place.
        (.issuer(realm, tokenEndpoint: "\(realm)/t"), .tokenEndpoint("\(realm)/t"), .same),
        (.tokenEndpoint("\(realm)/t"), .issuer(realm, tokenEndpoint: "\(realm)/t"), .same),
        (.issuer(realm, tokenEndpoint: "\(realm)/t"), .tokenEndpoint("\(other)/t"), .other),
        (.tokenEndpoint("\(realm)/t"), .issuer(realm, tokenEndpoint: "\(other)/t"), .other),
        (.issuer(realm, tokenEndpoint: nil), .tokenEndpoint("\(realm)/t"), .other),
        (.tokenEndpoint("\(realm)/t"), .issuer(realm, tokenEndpoint: nil), .other),
        // Of an earlier version: nowhere else than that sent them.
        (.origin("https://login.example:443"), .tokenEndpoint("\(realm)/token"), .same),
        (.origin("https://login.example:443"), .tokenEndpoint("https://login.example:8443/token"), .other),
        (.origin("https://login.example:443"), .tokenEndpoint("https://login.example.evil:443/token"), .other),
        (.origin("https://login.example:443"), .issuer(realm, tokenEndpoint: nil), .same),
        (.origin("https://login.example:443"), .issuer(realm, tokenEndpoint: "\(realm)/t"), .same),
        // Where an earlier version sent it, too: many an issuer has its endpoints on a host of their own.
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

    @Test func `a record takes over what the configuration says beyond it, where both are the same`() {
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
        // Nothing is given up of what is known, nor taken from another.
        #expect(former.settled(by: unknown) == former)
        #expect(known.settled(by: unknown) == known)
        let elsewhere = TokenIssuer.issuer(Self.realm, tokenEndpoint: "https://evil.example:443/t")
        for issuer in [known, named] { #expect(issuer.settled(by: elsewhere) == issuer) }
        #expect([known, unknown, named, former].map(\.isSettled) == [true, false, true, false])
    }

    @Test func `operators are shown no query`() {
        let shown = TokenIssuer.issuer("\(Self.realm)", tokenEndpoint: "\(Self.realm)/t?key=canary").description
        #expect(shown == "issuer \(Self.realm), token endpoint \(Self.realm)/t")
        #expect(TokenIssuer.tokenEndpoint("\(Self.realm)?key=canary").description == "token endpoint \(Self.realm)")
    }
}
