import MockServers
import Testing

@Suite struct TokenLedgerTests {
    let mint = CountingMint()

    func open(_ ledger: inout TokenLedger, _ account: String = "a0", at seconds: Double = 0) throws -> IssuedTokens {
        try ledger.open(
            account: account,
            scope: nil,
            refreshable: true,
            issuer: "http://mock",
            at: .second(seconds),
            mint: self.mint
        ).tokens
    }

    func refresh(
        _ ledger: inout TokenLedger,
        _ token: String?,
        at seconds: Double,
        scope: String? = nil
    ) throws(GrantRefusal) -> IssuedTokens {
        try ledger.refresh(
            token ?? "",
            scope: scope,
            issuer: "http://mock",
            at: .second(seconds),
            mint: self.mint
        )
    }

    @Test func `without rotation, a refresh token keeps working and is never replaced`() throws {
        var ledger = TokenLedger(rules: TokenRules())
        let first = try self.open(&ledger)

        let second = try self.refresh(&ledger, first.refreshToken, at: 1)
        let third = try self.refresh(&ledger, first.refreshToken, at: 2)

        #expect(second.refreshToken == nil)
        #expect(third.accessToken != second.accessToken)
        #expect(ledger.liveTokens(at: .second(3)) == ["a0": .init(refresh: 1, access: 3)])
    }

    @Test func `with rotation, each refresh token works once, and the newest one is live`() throws {
        var ledger = TokenLedger(rules: TokenRules(rotates: true))
        let first = try self.open(&ledger)

        let second = try self.refresh(&ledger, first.refreshToken, at: 1)

        #expect(second.refreshToken != nil)
        #expect(second.refreshToken != first.refreshToken)
        #expect(throws: GrantRefusal(.invalidGrant, "")) { try self.refresh(&ledger, first.refreshToken, at: 2) }
        #expect(throws: Never.self) { try self.refresh(&ledger, second.refreshToken, at: 3) }
        #expect(ledger.reuseDetections == 0)
    }

    /// A second use of a refresh token, some seconds after the first.
    struct SecondUse: CustomTestStringConvertible {
        let detectsReuse: Bool
        let grace: Double
        let after: Double
        let works: Bool
        let familyLives: Bool

        var testDescription: String { "reuse detection \(detectsReuse), grace \(grace) s, after \(after) s" }
    }

    @Test(arguments: [
        SecondUse(detectsReuse: false, grace: 0, after: 0, works: false, familyLives: true),
        SecondUse(detectsReuse: false, grace: 30, after: 30, works: true, familyLives: true),
        SecondUse(detectsReuse: false, grace: 30, after: 30.001, works: false, familyLives: true),
        SecondUse(detectsReuse: true, grace: 0, after: 0, works: false, familyLives: false),
        SecondUse(detectsReuse: true, grace: 30, after: 29, works: true, familyLives: true),
        SecondUse(detectsReuse: true, grace: 30, after: 31, works: false, familyLives: false),
    ])
    func `a second use of a rotated refresh token works only within the grace`(use: SecondUse) throws {
        var ledger = TokenLedger(
            rules: TokenRules(
                accessLifetime: .seconds(3_600),
                rotates: true,
                detectsReuse: use.detectsReuse,
                grace: .milliseconds(Int(use.grace * 1_000))
            )
        )
        let first = try self.open(&ledger)
        let second = try self.refresh(&ledger, first.refreshToken, at: 100)

        let again = Result { () throws(GrantRefusal) in
            try self.refresh(&ledger, first.refreshToken, at: 100 + use.after)
        }

        let end = 200.0
        if use.works {
            let pair = try again.get()
            #expect(pair.refreshToken != nil && pair.refreshToken != second.refreshToken)
        } else {
            #expect(throws: GrantRefusal(.invalidGrant, "")) { try again.get() }
        }
        #expect(ledger.reuseDetections == (use.familyLives ? 0 : 1))
        #expect(ledger.accessToken(second.accessToken, at: .second(end))?.state == (use.familyLives ? .live : .revoked))
        if use.familyLives {
            #expect(throws: Never.self) { try self.refresh(&ledger, second.refreshToken, at: end) }
        } else {
            #expect(throws: GrantRefusal(.invalidGrant, "")) { try self.refresh(&ledger, second.refreshToken, at: end) }
            #expect(ledger.liveTokens(at: .second(end)) == ["a0": .init(refresh: 0, access: 0)])
        }
    }

    @Test func `reuse in a dead family is detected once, however often it is tried`() throws {
        var ledger = TokenLedger(rules: TokenRules(rotates: true, detectsReuse: true))
        let first = try self.open(&ledger)
        _ = try self.refresh(&ledger, first.refreshToken, at: 1)

        for second in 2...5 {
            _ = try? self.refresh(&ledger, first.refreshToken, at: Double(second))
        }

        #expect(ledger.reuseDetections == 1)
    }

    @Test func `tokens issued within the grace belong to the same family and die with it`() throws {
        var ledger = TokenLedger(rules: TokenRules(rotates: true, detectsReuse: true, grace: .seconds(10)))
        let first = try self.open(&ledger)
        let second = try self.refresh(&ledger, first.refreshToken, at: 1)
        let twin = try self.refresh(&ledger, first.refreshToken, at: 2)

        #expect(throws: GrantRefusal(.invalidGrant, "")) { try self.refresh(&ledger, first.refreshToken, at: 20) }

        for tokens in [second, twin] {
            #expect(throws: GrantRefusal(.invalidGrant, "")) { try self.refresh(&ledger, tokens.refreshToken, at: 21) }
            #expect(ledger.accessToken(tokens.accessToken, at: .second(21))?.state == .revoked)
        }
    }

    @Test(arguments: [(true, AccessTokenState.revoked), (false, .live)])
    func `a rotation kills the older access tokens if configured to`(kills: Bool, old: AccessTokenState) throws {
        var ledger = TokenLedger(rules: TokenRules(rotates: true, rotationKillsAccess: kills))
        let first = try self.open(&ledger)
        let stranger = try self.open(&ledger, "a1")

        let second = try self.refresh(&ledger, first.refreshToken, at: 1)

        #expect(ledger.accessToken(first.accessToken, at: .second(1))?.state == old)
        #expect(ledger.accessToken(second.accessToken, at: .second(1))?.state == .live)
        #expect(ledger.accessToken(stranger.accessToken, at: .second(1))?.state == .live)
    }

    @Test(arguments: [(59.999, AccessTokenState.live), (60, .expired)])
    func `an access token lives for the configured time`(age: Double, state: AccessTokenState) throws {
        var ledger = TokenLedger(rules: TokenRules(accessLifetime: .seconds(60)))
        let tokens = try self.open(&ledger, at: 1_000)

        #expect(tokens.expiresIn == 60)
        #expect(ledger.accessToken(tokens.accessToken, at: .second(1_000 + age))?.state == state)
        #expect(ledger.accessToken(tokens.accessToken, at: .second(1_000 + age))?.account == "a0")
    }

    @Test func `a fractional lifetime is rounded down to whole seconds`() throws {
        var ledger = TokenLedger(rules: TokenRules(accessLifetime: .milliseconds(2_900)))
        #expect(try self.open(&ledger).expiresIn == 2)
    }

    @Test func `expiring all access tokens does not touch later ones`() throws {
        var ledger = TokenLedger(rules: TokenRules())
        let first = try self.open(&ledger)
        let revoked = try self.open(&ledger, "a1")
        _ = ledger.revoke(revoked.accessToken, at: .second(1))

        #expect(ledger.expireAccessTokens(at: .second(2)) == 1)
        let second = try self.refresh(&ledger, first.refreshToken, at: 2)

        #expect(ledger.accessToken(first.accessToken, at: .second(2))?.state == .expired)
        #expect(ledger.accessToken(revoked.accessToken, at: .second(2))?.state == .revoked)
        #expect(ledger.accessToken(second.accessToken, at: .second(2))?.state == .live)
        #expect(ledger.expireAccessTokens(at: .second(3)) == 1)
    }

    @Test func `revoking a refresh token revokes its family, revoking an access token only that token`() throws {
        var ledger = TokenLedger(rules: TokenRules())
        let first = try self.open(&ledger)
        let second = try self.refresh(&ledger, first.refreshToken, at: 1)

        let accessTokenWasKnown = ledger.revoke(first.accessToken, at: .second(2))
        #expect(accessTokenWasKnown)
        #expect(ledger.liveTokens(at: .second(2)) == ["a0": .init(refresh: 1, access: 1)])

        let refreshTokenWasKnown = ledger.revoke(first.refreshToken ?? "", at: .second(3))
        #expect(refreshTokenWasKnown)
        #expect(ledger.liveTokens(at: .second(3)) == ["a0": .init(refresh: 0, access: 0)])
        #expect(ledger.accessToken(second.accessToken, at: .second(3))?.state == .revoked)
        let strangerWasKnown = ledger.revoke("never issued", at: .second(4))
        #expect(!strangerWasKnown)
    }

    @Test func `a token has the state of the moment when its request was read`() throws {
        var ledger = TokenLedger(rules: TokenRules())
        let tokens = try self.open(&ledger)

        _ = ledger.revoke(tokens.refreshToken ?? "", at: .second(5))

        #expect(ledger.accessToken(tokens.accessToken, at: .second(4.999))?.state == .live)
        #expect(ledger.accessToken(tokens.accessToken, at: .second(5))?.state == .revoked)
    }

    @Test func `presentations count every use of each refresh token, in the order they were issued`() throws {
        var ledger = TokenLedger(rules: TokenRules(rotates: true))
        let first = try self.open(&ledger)
        ledger.notePresentation(of: first.refreshToken ?? "")
        let second = try self.refresh(&ledger, first.refreshToken, at: 1)
        ledger.notePresentation(of: second.refreshToken ?? "")
        ledger.notePresentation(of: first.refreshToken ?? "")
        ledger.notePresentation(of: "never issued")
        _ = try self.refresh(&ledger, second.refreshToken, at: 2)
        _ = try self.open(&ledger, "a1")

        #expect(ledger.presentations == ["a0": [2, 1], "a1": []])
    }

    @Test func `a request for more scope than granted is refused and does not use the token up`() throws {
        var ledger = TokenLedger(rules: TokenRules(rotates: true))
        let first = try ledger.open(
            account: "a0",
            scope: "read write",
            refreshable: true,
            issuer: "http://mock",
            at: .second(0),
            mint: self.mint
        ).tokens

        #expect(throws: GrantRefusal(.invalidScope, "")) {
            try self.refresh(&ledger, first.refreshToken, at: 1, scope: "read admin")
        }
        #expect(try self.refresh(&ledger, first.refreshToken, at: 2, scope: "read").scope == "read")
    }

    @Test func `introspection knows live tokens only`() throws {
        var ledger = TokenLedger(rules: TokenRules(rotates: true))
        let first = try self.open(&ledger)
        let second = try self.refresh(&ledger, first.refreshToken, at: 1)

        #expect(ledger.describe(first.refreshToken ?? "", at: .second(1)) == nil)
        #expect(ledger.describe(second.refreshToken ?? "", at: .second(1))?.account == "a0")
        #expect(ledger.describe(second.accessToken, at: .second(1))?.expiresAt == .second(61))
        #expect(ledger.describe(second.accessToken, at: .second(61)) == nil)
        #expect(ledger.describe("never issued", at: .second(1)) == nil)
    }
}
