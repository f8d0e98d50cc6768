import Crypto
import KillSwitch
import OAuth
import ProviderClient
import SignIn
import Simulation
import Testing
import TokenModel
import TokenRefresh
import TokenStorage

/// How a sign-in begins: what is asked for, where somebody is sent, and what is refused.
@Suite(.simulated) struct SignInBeginningTests {
    private let other = ProviderID("other")

    private func provider(
        _ server: ScriptedProvider,
        redirectURI: String = "http://127.0.0.1/callback"
    ) -> SignInConfiguration.Provider {
        SignInConfiguration.Provider(server: server, redirectURI: redirectURI)
    }

    // MARK: - What is asked for

    @Test func `the scopes of the account and of the provider are requested, each once`() async throws {
        try await SignInFixture.run(scopes: ["read", "write"]) { fixture, replica in
            fixture.configuration.set([
                acme: SignInConfiguration.Provider(
                    server: fixture.provider,
                    scopes: ["offline_access", "read"],
                    prompt: "consent",
                    extra: ["access_type": "offline"]
                )
            ])

            let begun = try await replica.begin()

            #expect(begun.request.scopes == ["read", "write", "offline_access"])
            #expect(begun.report.scopes == ["read", "write", "offline_access"])
            #expect(begun.request["prompt"] == "consent")
            #expect(begun.request["access_type"] == "offline")
        }
    }

    @Test func `a sign-in that has begun waits for ten minutes and says so`() async throws {
        try await SignInFixture.run { fixture, replica in
            let begun = try await replica.begin()

            #expect(begun.report.state == .pending)
            #expect((begun.report.account, begun.report.provider) == (alice, acme))
            #expect(begun.report.way == .paste)
            #expect(begun.report.startedAt == fixture.clock.wall)
            #expect(begun.report.expiresAt == fixture.clock.wall.advanced(by: .seconds(600)))
            #expect(begun.report.endedAt == nil)
            // Only who began it gets the address, which has the state.
            let later = try await replica.report(on: begun)
            #expect(later.url == nil)
            #expect(later.state == .pending)
        }
    }

    @Test(arguments: [(["read"], false), (["openid"], true)])
    func `a nonce is sent if an ID token is requested`(scopes: [String], isSent: Bool) async throws {
        try await SignInFixture.run(scopes: scopes) { _, replica in
            let begun = try await replica.begin()
            #expect((begun.request["nonce"] != nil) == isSent)
        }
    }

    @Test func `state, nonce, verifier and cookie have 256 random bits and are new each time`() async throws {
        try await SignInFixture.run(scopes: ["openid"]) { fixture, replica in
            // Given two sign-ins, and two openings of a third
            var texts: [String] = []
            for number in 1...2 {
                fixture.provider.answer(.dead(.code("invalid_grant")))
                let begun = try await replica.begin()
                try await replica.answer(begun)
                let redemption = try #require(fixture.provider.redeemed.last)
                // The verifier is that of the challenge (RFC 7636 §4.6).
                let challenge = Data64.urlSafe(SHA256.hash(data: Array(redemption.verifier.utf8)))
                #expect(begun.request["code_challenge"] == challenge)
                #expect(begun.request["code_challenge_method"] == "S256")
                let state = begun.request.state.split(separator: ".")
                #expect(state.count == 2)
                texts += [try #require(begun.request["nonce"]), redemption.verifier, String(state[1])]
                #expect(fixture.provider.redeemed.count == number)
            }
            let begun = try await replica.begin(alice, .gateway)
            for _ in 1...2 { texts.append(try await replica.service.open(begun.report.id).cookie.text) }

            // Then none is like another, and each may be a verifier (RFC 7636 §4.1)
            #expect(texts.count == 8)
            #expect(Set(texts).count == 8)
            let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
            for text in texts {
                #expect(text.utf8.count >= 43)
                #expect(text.allSatisfy(unreserved.contains))
            }
        }
    }

    @Test func `the address does not tell how the account is called`() async throws {
        try await SignInFixture.run { _, replica in
            let (one, two) = (try await replica.begin(alice), try await replica.begin(bob))

            for begun in [one, two] {
                let url = try #require(begun.report.url)
                #expect(!url.contains("alice") && !url.contains("bob"))
                #expect(!begun.report.id.rawValue.contains("alice") && !begun.report.id.rawValue.contains("bob"))
            }
            #expect(one.request.state.prefix(32) != two.request.state.prefix(32))
        }
    }

    // MARK: - What is refused

    @Test func `an account that is not configured can't sign in`() async throws {
        try await SignInFixture.run { _, replica async throws in
            let error = await #expect(throws: SignInError.self) { try await replica.begin(AccountID("carol")) }
            #expect(error?.code == .unknownAccount)
        }
    }

    @Test func `an account whose tokens are minted can't sign in`() async throws {
        try await SignInFixture.run { fixture, replica async throws in
            let minted = AccountConfiguration(
                account: alice,
                provider: acme,
                grant: .clientCredentials,
                endpoint: fixture.provider
            )
            replica.engine.reload([minted], waiters: 100)

            let error = await #expect(throws: SignInError.self) { try await replica.begin() }
            #expect(error?.code == .conflict)
        }
    }

    @Test(arguments: [KillScope.all, .provider(acme), .account(alice)])
    func `nobody signs in to what is killed`(scope: KillScope) async throws {
        try await SignInFixture.run { fixture, replica in
            try await replica.kill(scope)

            let error = await #expect(throws: SignInError.self) { try await replica.begin() }
            #expect(error?.code == .conflict)
            #expect(try await fixture.signInKeys().isEmpty)

            // And after the revival somebody does
            try await replica.kills.revive(scope, reason: "drill")
            #expect(try await replica.begin().report.state == .pending)
        }
    }

    @Test func `an account whose provider is not configured can't sign in`() async throws {
        try await SignInFixture.run { fixture, replica async throws in
            fixture.configuration.set([:])

            let error = await #expect(throws: SignInError.self) { try await replica.begin() }
            #expect(error?.code == .conflict)
        }
    }

    @Test(arguments: [
        (SignInFeatures.sample(hasAuthorizationEndpoint: false), SignInWay.paste, "authorization_endpoint"),
        (.sample(hasDeviceEndpoint: false), .device, "device_authorization_endpoint"),
        (.sample(refusesS256: true), .paste, "S256"),
        (.sample(validatesIDTokens: false), .paste, "openid"),
        (.sample(validatesIDTokens: false), .device, "openid"),
    ])
    func `a provider that lacks what a sign-in needs is refused`(
        features: SignInFeatures,
        way: SignInWay,
        word: String
    ) async throws {
        try await SignInFixture.run(scopes: ["openid"]) { fixture, replica async throws in
            fixture.provider.features = features

            let error = await #expect(throws: SignInError.self) { try await replica.begin(alice, way) }
            #expect(error?.code == .conflict)
            #expect(error?.message.contains(word) == true)
            #expect(try await fixture.signInKeys().isEmpty)
        }
    }

    @Test(arguments: [
        (SignInFeatures.sample(hasAuthorizationEndpoint: false, refusesS256: true), SignInWay.device),
        (.sample(hasDeviceEndpoint: false), .paste),
        (.sample(validatesIDTokens: false), .paste),
    ])
    func `a provider needs only what its way of signing in needs`(
        features: SignInFeatures,
        way: SignInWay
    ) async throws {
        try await SignInFixture.run { fixture, replica async throws in
            fixture.provider.features = features
            #expect(try await replica.begin(alice, way).report.state == .pending)
        }
    }

    @Test(arguments: [
        (AuthorizationServerError.Code.unreachable, SignInError.Code.providerUnreachable),
        (.refused, .providerRefused), (.malformed, .providerRefused), (.notOffered, .conflict),
    ])
    func `a provider that can't be asked begins no sign-in and ends none`(
        cause: AuthorizationServerError.Code,
        code: SignInError.Code
    ) async throws {
        try await SignInFixture.run { fixture, replica in
            // Given a sign-in that waits
            let earlier = try await replica.begin()
            fixture.provider.refuse(AuthorizationServerError(cause, "no"))

            // When another one can't begin
            for way in [SignInWay.paste, .device] {
                let error = await #expect(throws: SignInError.self) { try await replica.begin(alice, way) }
                #expect(error?.code == code)
            }

            // Then the earlier one still waits
            #expect(try await replica.report(on: earlier).state == .pending)
        }
    }

    // MARK: - Where the answer comes to

    @Test(arguments: ["http://127.0.0.1:4711/callback", "http://127.0.0.1:1/callback", "http://127.0.0.1/callback"])
    func `the command listens on any port of the loopback address`(redirectURI: String) async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin(alice, .loopback, redirectURI: redirectURI)
            #expect(begun.request.redirectURI == redirectURI)

            try await replica.answer(begun)
            #expect(fixture.provider.redeemed.map(\.redirectURI) == [redirectURI])
        }
    }

    @Test(arguments: [
        "http://127.0.0.1:4711/other", "https://127.0.0.1:4711/callback", "http://localhost:4711/callback",
        "http://127.0.0.1.example/callback", "http://127.0.0.1:0/callback", "http://127.0.0.1:66000/callback",
        "http://127.0.0.1:4711/callback?x=1", "http://user@127.0.0.1/callback", "127.0.0.1/callback", "", nil,
    ])
    func `another redirect URI than the configured one is refused with the one that is expected`(
        redirectURI: String?
    ) async throws {
        try await SignInFixture.run { _, replica async throws in
            let error = await #expect(throws: SignInError.self) {
                try await replica.begin(alice, .loopback, redirectURI: redirectURI)
            }
            #expect(error?.code == .invalidRedirectURI)
            #expect(error?.expected == "http://127.0.0.1/callback")
        }
    }

    @Test func `a configured port must be that of the command`() async throws {
        try await SignInFixture.run { fixture, replica async throws in
            fixture.configuration.set([
                acme: self.provider(fixture.provider, redirectURI: "http://127.0.0.1:4711/callback")
            ])

            let error = await #expect(throws: SignInError.self) {
                try await replica.begin(alice, .loopback, redirectURI: "http://127.0.0.1:4712/callback")
            }
            #expect(error?.code == .invalidRedirectURI)
            #expect(error?.expected == "http://127.0.0.1:4711/callback")
            let right = "http://127.0.0.1:4711/callback"
            #expect(try await replica.begin(alice, .loopback, redirectURI: right).report.state == .pending)
        }
    }

    @Test func `a redirect URI that is not on loopback can't be listened on by the command`() async throws {
        try await SignInFixture.run { fixture, replica async throws in
            let configured = "https://app.example/callback"
            fixture.configuration.set([acme: self.provider(fixture.provider, redirectURI: configured)])

            let error = await #expect(throws: SignInError.self) {
                try await replica.begin(alice, .loopback, redirectURI: configured)
            }
            #expect(error?.code == .invalidRedirectURI)
            // By hand it can be used.
            #expect(try await replica.begin().request.redirectURI == configured)
        }
    }

    @Test(arguments: [SignInWay.paste, .gateway, .device])
    func `only the command names a redirect URI`(way: SignInWay) async throws {
        try await SignInFixture.run { _, replica async throws in
            let error = await #expect(throws: SignInError.self) {
                try await replica.begin(alice, way, redirectURI: "http://127.0.0.1/callback")
            }
            #expect(error?.code == .invalidRedirectURI)
        }
    }

    @Test func `without a listener nobody signs in at the gateway`() async throws {
        try await SignInFixture.run { fixture, replica async throws in
            fixture.configuration.set([acme: self.provider(fixture.provider)])

            let error = await #expect(throws: SignInError.self) { try await replica.begin(alice, .gateway) }
            #expect(error?.code == .conflict)
        }
    }

    // MARK: - Providers that do not say whose answer it is

    @Test(arguments: [SignInWay.paste, .loopback, .gateway])
    func `a provider that does not promise iss shares its redirect URI with no other`(
        way: SignInWay
    ) async throws {
        try await SignInFixture.run { fixture, replica async throws in
            let requested = way == .loopback ? "http://127.0.0.1:4711/callback" : nil
            let gateway = "https://martlet.example/login/callback"
            fixture.provider.features = .sample(promisesIssuer: false)
            fixture.configuration.set(
                gateway: gateway,
                [acme: self.provider(fixture.provider), self.other: self.provider(ScriptedProvider.elsewhere())]
            )

            // Given the same redirect URI, it is refused
            let error = await #expect(throws: SignInError.self) {
                try await replica.begin(alice, way, redirectURI: requested)
            }
            #expect(error?.code == .conflict)
            #expect(error?.message.contains("other") == true)

            // With one of its own, or with the promise, it is not
            let own = way == .gateway ? "https://martlet.example/login/other" : "http://127.0.0.1/other"
            fixture.configuration.set(
                gateway: gateway,
                [
                    acme: self.provider(fixture.provider),
                    self.other: self.provider(ScriptedProvider.elsewhere(), redirectURI: own),
                ]
            )
            #expect(try await replica.begin(alice, way, redirectURI: requested).report.state == .pending)
            fixture.provider.features = .usual
            fixture.configuration.set(
                gateway: gateway,
                [acme: self.provider(fixture.provider), self.other: self.provider(ScriptedProvider.elsewhere())]
            )
            #expect(try await replica.begin(alice, way, redirectURI: requested).report.state == .pending)
        }
    }

    @Test func `another client of the same issuer may have the same redirect URI`() async throws {
        try await SignInFixture.run { fixture, replica async throws in
            fixture.provider.features = .sample(promisesIssuer: false)
            fixture.configuration.set([
                acme: self.provider(fixture.provider), self.other: self.provider(ScriptedProvider()),
            ])

            #expect(try await replica.begin(alice, .paste).report.state == .pending)
        }
    }

    @Test func `a port of another provider's redirect URI is not taken for one without a port`() async throws {
        try await SignInFixture.run { fixture, replica async throws in
            fixture.provider.features = .sample(promisesIssuer: false)
            fixture.configuration.set([
                acme: self.provider(fixture.provider),
                self.other: self.provider(ScriptedProvider.elsewhere(), redirectURI: "http://127.0.0.1:4711/callback"),
            ])

            let error = await #expect(throws: SignInError.self) {
                try await replica.begin(alice, .loopback, redirectURI: "http://127.0.0.1:4711/callback")
            }
            #expect(error?.code == .conflict)
            let free = "http://127.0.0.1:4712/callback"
            #expect(try await replica.begin(alice, .loopback, redirectURI: free).report.state == .pending)
        }
    }
}

/// Base64url without padding (RFC 4648 §5), written apart from the code under test.
enum Data64 {
    static func urlSafe(_ bytes: some Sequence<UInt8>) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        var text = ""
        var (pool, bits) = (0, 0)
        for byte in bytes {
            (pool, bits) = ((pool << 8 | Int(byte)) & 0xFFFF, bits + 8)
            while bits >= 6 {
                bits -= 6
                text.append(letters[pool >> bits & 63])
            }
        }
        if bits > 0 { text.append(letters[pool << (6 - bits) & 63]) }
        return text
    }
}
