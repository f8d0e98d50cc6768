import OAuth
import ProviderClient
import SignIn
import Simulation
import Testing
import TokenModel
import TokenStorage

/// Sign-ins at the gateway's own listener, where a cookie ties the answer to the browser that began.
@Suite(.simulated) struct GatewayAnswerTests {
    private static let callback = "https://martlet.example/login/callback"

    @Test func `a browser that opens the sign-in and comes back gets the account its tokens`() async throws {
        try await SignInFixture.run { fixture, replica in
            // Given a sign-in at the gateway, which begins at its listener
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin(alice, .gateway)
            #expect(begun.report.url == "https://martlet.example/login/start/\(begun.report.id)")

            // When a browser opens it and comes back
            let (url, cookie) = try await replica.service.open(begun.report.id)
            let request = Query(ofAddress: url)
            #expect(request.redirectURI == Self.callback)
            let id = try await replica.accept(Answer(), request, [cookie])

            // Then the tokens are exchanged after that
            #expect(id == begun.report.id)
            try await until("it to be done") { try await replica.report(on: begun).state == .done }
            #expect(try await fixture.refreshToken() == "rt-1")
            #expect(fixture.provider.redeemed.map(\.redirectURI) == [Self.callback])
        }
    }

    @Test func `a provider with a redirect URI of its own at the listener keeps it`() async throws {
        try await SignInFixture.run { fixture, replica in
            let own = "https://martlet.example/login/acme"
            fixture.configuration.set(
                gateway: Self.callback,
                [acme: SignInConfiguration.Provider(server: fixture.provider, redirectURI: own)]
            )

            let begun = try await replica.begin(alice, .gateway)
            let url = try await replica.service.open(begun.report.id).url
            #expect(Query(ofAddress: url).redirectURI == own)
        }
    }

    @Test func `each opening has a cookie and a state of its own, and the last one counts`() async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin(alice, .gateway)
            let first = try await replica.service.open(begun.report.id)
            let last = try await replica.service.open(begun.report.id)
            #expect(first.cookie != last.cookie)
            let (old, new) = (Query(ofAddress: first.url), Query(ofAddress: last.url))
            #expect(old.state != new.state)

            // Neither the first state nor the first cookie is taken
            for (request, cookie, code) in [
                (old, first.cookie, SignInError.Code.invalidAnswer), (old, last.cookie, .invalidAnswer),
                (new, first.cookie, .anotherBrowser),
            ] {
                let error = await #expect(throws: SignInError.self) {
                    try await replica.accept(Answer(), request, [cookie])
                }
                #expect(error?.code == code)
            }
            #expect(fixture.provider.redeemed.isEmpty)
            _ = try await replica.accept(Answer(), new, [last.cookie])
            try await until("it to be done") { try await replica.report(on: begun).state == .done }
        }
    }

    @Test(arguments: [[], ["0123"], [""]])
    func `an answer from another browser is refused and consumes nothing`(cookies: [String]) async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens())
            let begun = try await replica.begin(alice, .gateway)
            let (url, cookie) = try await replica.service.open(begun.report.id)
            let request = Query(ofAddress: url)

            // Not even an error of the provider ends a sign-in of another browser.
            for answer in [Answer(), .error("access_denied")] {
                let error = await #expect(throws: SignInError.self) {
                    try await replica.accept(answer, request, cookies.map { Secret($0) })
                }
                #expect(error?.code == .anotherBrowser)
            }
            #expect(try await replica.report(on: begun).state == .pending)

            // The right cookie is found among others
            _ = try await replica.accept(Answer(), request, [Secret("0123"), cookie, Secret("")])
            try await until("it to be done") { try await replica.report(on: begun).state == .done }
        }
    }

    @Test func `the cookie of another account's sign-in does not do`() async throws {
        try await SignInFixture.run { fixture, replica in
            let (hers, his) = (try await replica.begin(alice, .gateway), try await replica.begin(bob, .gateway))
            let url = try await replica.service.open(hers.report.id).url
            let cookie = try await replica.service.open(his.report.id).cookie

            let error = await #expect(throws: SignInError.self) {
                try await replica.accept(Answer(), Query(ofAddress: url), [cookie])
            }
            #expect(error?.code == .anotherBrowser)
            #expect(fixture.provider.redeemed.isEmpty)
        }
    }

    @Test(arguments: [SignInWay.paste, .loopback])
    func `the listener takes no answer of a sign-in that began elsewhere`(way: SignInWay) async throws {
        try await SignInFixture.run { fixture, replica in
            fixture.provider.answer(.tokens())
            let redirectURI = way == .loopback ? "http://127.0.0.1:4711/callback" : nil
            let begun = try await replica.begin(alice, way, redirectURI: redirectURI)

            for place in [begun.request.redirectURI, Self.callback] {
                let error = await #expect(throws: SignInError.self) {
                    try await replica.service.accept(
                        query: Answer().query(for: begun.request),
                        at: place,
                        cookies: [Secret("")]
                    )
                }
                #expect(error?.code == .invalidAnswer)
            }
            #expect(try await replica.answer(begun).state == .done)
        }
    }

    @Test func `an answer at another path of the listener is refused and consumes nothing`() async throws {
        try await SignInFixture.run { fixture, replica in
            let begun = try await replica.begin(alice, .gateway)
            let (url, cookie) = try await replica.service.open(begun.report.id)
            let query = Answer().query(for: Query(ofAddress: url))

            let error = await #expect(throws: SignInError.self) {
                try await replica.service.accept(
                    query: query,
                    at: "https://martlet.example/login/other",
                    cookies: [cookie]
                )
            }
            #expect(error?.code == .invalidAnswer)
            #expect(fixture.provider.redeemed.isEmpty)
            #expect(try await replica.report(on: begun).state == .pending)
        }
    }

    @Test(arguments: ["", "code=code-1", "code=code-1&state=0123", "state=%zz"])
    func `a query that nobody began is refused`(query: String) async throws {
        try await SignInFixture.run { _, replica in
            _ = try await replica.begin(alice, .gateway)
            let error = await #expect(throws: SignInError.self) {
                try await replica.service.accept(query: query, at: Self.callback, cookies: [])
            }
            #expect(error?.code == .invalidAnswer)
        }
    }

    @Test func `an answer before the sign-in was opened is refused`() async throws {
        try await SignInFixture.run { fixture, replica in
            // Given a sign-in that nobody has opened since it was begun anew
            let earlier = try await replica.begin(alice, .gateway)
            let (url, cookie) = try await replica.service.open(earlier.report.id)
            let begun = try await replica.begin(alice, .gateway)

            await #expect(throws: SignInError.self) {
                try await replica.accept(Answer(), Query(ofAddress: url), [cookie])
            }
            #expect(fixture.provider.redeemed.isEmpty)
            #expect(try await replica.report(on: begun).state == .pending)
        }
    }

    @Test func `a sign-in is opened only while it waits, and only at the gateway`() async throws {
        try await SignInFixture.run { fixture, replica in
            let pasted = try await replica.begin(bob)
            let begun = try await replica.begin(alice, .gateway)
            let wrong = await #expect(throws: SignInError.self) { try await replica.service.open(pasted.report.id) }
            #expect(wrong?.code == .conflict)

            await fixture.clock.pass(.seconds(600))
            let late = await #expect(throws: SignInError.self) { try await replica.service.open(begun.report.id) }
            #expect(late?.code == .conflict)
            let none = await #expect(throws: SignInError.self) {
                try await replica.service.open(SignInID(rawValue: "x"))
            }
            #expect(none?.code == .unknownSignIn)
        }
    }

    @Test func `a provider that refuses the request in advance leaves the sign-in waiting`() async throws {
        try await SignInFixture.run { fixture, replica in
            let begun = try await replica.begin(alice, .gateway)
            fixture.provider.refuse(AuthorizationServerError(.refused, "no"))
            let error = await #expect(throws: SignInError.self) { try await replica.service.open(begun.report.id) }
            #expect(error?.code == .providerRefused)

            fixture.provider.refuse(nil)
            _ = try await replica.service.open(begun.report.id)
        }
    }
}

extension Replica {
    /// Takes an answer at the gateway's listener.
    func accept(_ answer: Answer, _ request: Query, _ cookies: [Secret]) async throws -> SignInID {
        try await self.service.accept(
            query: answer.query(for: request),
            at: request.redirectURI,
            cookies: cookies
        )
    }
}
