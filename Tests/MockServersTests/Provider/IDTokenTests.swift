import Foundation
import MockServers
import Testing

@Suite(.timeLimit(.minutes(1))) struct IDTokenTests {
    static let query = "\(ListeningAddress.authorization)&scope=openid%20read&login_hint=alice&nonce=n1"

    /// Signs in, and returns the ID token in the token response.
    func idToken(_ address: ListeningAddress, _ query: String = Self.query) async throws -> IDTokenParts {
        let reply: TokenReply = try await address.redeem(try await address.authorize(query)).json()
        return try IDTokenParts(try #require(reply.idToken))
    }

    @Test(arguments: [false, true])
    func `a sign-in with openid yields a signed ID token`(opaque: Bool) async throws {
        try await MockServer.withRunning(MockOptions(opaqueTokens: opaque)) { address in
            let token = try await self.idToken(address)

            #expect(try await token.isSigned(byThe: address))
            #expect(token.claims.iss == "\(address)")
            #expect(token.claims.sub == "alice")
            #expect(token.claims.aud == "mock-client")
            #expect(token.claims.nonce == "n1")
            #expect(abs(Double(token.claims.iat) - Date.now.timeIntervalSince1970) < 60)
            #expect(token.claims.exp - token.claims.iat == 300)
            #expect((token.claims.iat - 60...token.claims.iat).contains(token.claims.auth_time))
        }
    }

    @Test func `a request without a nonce yields an ID token without one`() async throws {
        try await MockServer.withRunning { address in
            let token = try await self.idToken(address, "\(ListeningAddress.authorization)&scope=openid")
            #expect(token.claims.nonce == nil)
            #expect(token.claims.sub == "mock-user")
        }
    }

    @Test(arguments: ["", "&scope=read", "&scope=openid2"])
    func `a sign-in without openid yields no ID token`(scope: String) async throws {
        try await MockServer.withRunning { address in
            let redirection = try await address.authorize(ListeningAddress.authorization + scope)
            let reply: TokenReply = try await address.redeem(redirection).json()
            #expect(reply.idToken == nil)
        }
    }

    @Test func `a device gets an ID token, but its refresh does not`() async throws {
        try await MockServer.withRunning { address in
            let device = try await address.startDevice("scope=openid&account=tv")
            try await address.approve(device)
            let reply: TokenReply = try await address.poll(device).json()

            let token = try IDTokenParts(try #require(reply.idToken))
            #expect(try await token.isSigned(byThe: address))
            #expect(token.claims.sub == "tv")
            let refreshed: TokenReply = try await address.refresh(reply.refreshToken).json()
            #expect(refreshed.idToken == nil)
        }
    }

    @Test func `an ID token is among all tokens ever issued`() async throws {
        try await MockServer.withRunning { address in
            let reply: TokenReply = try await address.redeem(try await address.authorize(Self.query)).json()
            let token = try #require(reply.idToken)
            #expect(try await address.request("GET", "/_control/tokens").text.contains(token))
        }
    }

    @Test func `the subject can be another one than the account`() async throws {
        try await MockServer.withRunning { address in
            try await address.signInRules(#"{"subject": "248289761001"}"#)
            #expect(try await self.idToken(address).claims.sub == "248289761001")
        }
    }

    @Test func `the ID token can be missing`() async throws {
        try await MockServer.withRunning { address in
            try await address.signInRules(#"{"id_token": "missing"}"#)
            let reply: TokenReply = try await address.redeem(try await address.authorize(Self.query)).json()
            #expect(reply.idToken == nil)
            #expect(reply.scope == "openid read")
        }
    }

    @Test func `a foreign key signs under the name of the published one`() async throws {
        try await MockServer.withRunning { address in
            let genuine = try await self.idToken(address)
            try await address.signInRules(#"{"id_token": "foreign_key"}"#)
            let token = try await self.idToken(address)
            #expect(token.header.alg == "ES256")
            #expect(token.header.kid == genuine.header.kid)
            #expect(try await !token.isSigned(byThe: address))
        }
    }

    @Test func `an unsigned ID token says so`() async throws {
        try await MockServer.withRunning { address in
            try await address.signInRules(#"{"id_token": "unsigned"}"#)
            let token = try await self.idToken(address)
            #expect(token.header.alg == "none")
            #expect(token.claims.sub == "alice")
        }
    }

    @Test(arguments: ["wrong_iss", "wrong_aud", "wrong_nonce", "expired"])
    func `one claim can be wrong in a token that is signed well`(flaw: String) async throws {
        try await MockServer.withRunning { address in
            try await address.signInRules(#"{"id_token": "\#(flaw)"}"#)
            let token = try await self.idToken(address)

            #expect(try await token.isSigned(byThe: address))
            #expect((token.claims.iss != "\(address)") == (flaw == "wrong_iss"))
            #expect((token.claims.aud != "mock-client") == (flaw == "wrong_aud"))
            #expect((token.claims.nonce != "n1") == (flaw == "wrong_nonce"))
            #expect((Double(token.claims.exp) < Date.now.timeIntervalSince1970 - 600) == (flaw == "expired"))
        }
    }
}
