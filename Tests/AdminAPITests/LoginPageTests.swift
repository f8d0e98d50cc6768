internal import AdminAPI
internal import Audit
internal import NIOHTTP1
internal import OAuth
internal import ProviderClient
internal import SignIn
internal import TestKit
internal import Testing
internal import TokenModel

/// What somebody sees who signs in.
@Suite struct LoginPageTests {
    @Test func `each response forbids to store, frame, script or refer to it`() async throws {
        try await LoginFixture.run { login in
            let attempt = try await login.open()
            let answers = [
                try await login.get("/login/start/\(attempt.id)"),
                try await login.get(attempt.answer),
                try await login.get("/login/start/\(attempt.id)", ["Sec-Fetch-Dest": "image"]),
                try await login.get("/login/start/\(attempt.id)", ["Host": "evil.example"]),
                try await login.get("/login/start/\(attempt.id)", method: .HEAD),
                try await login.get("/login/nothing"),
                try await login.get(Self.unknown),
            ]
            let again = try await login.open("alice", attempt.id)
            let taken = [
                try await login.get(again.answer, cookie: again.cookie),
                try await login.get(again.answer, cookie: again.cookie),
                try await login.get(again.done),
            ]
            #expect((answers + taken).map(\.status) == [303, 400, 403, 421, 405, 404, 404, 303, 409, 200])
            for answer in answers + taken {
                #expect(answer.headers["cache-control"] == ["no-store"])
                #expect(answer.headers["referrer-policy"] == ["no-referrer"])
                #expect(answer.headers["x-content-type-options"] == ["nosniff"])
                #expect(answer.headers["cross-origin-opener-policy"] == ["same-origin"])
                #expect(answer.headers["cross-origin-resource-policy"] == ["same-origin"])
                let policy = try #require(answer.headers.first(name: "content-security-policy"))
                #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-"))
                #expect(policy.hasSuffix("; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"))
                #expect(["<script", "<link", "src=", "href="].allSatisfy { !answer.body.contains($0) })
            }
            #expect(answers[4].headers["allow"] == ["GET"])
        }
    }

    @Test func `a name made of markup is shown as text`() async throws {
        try await LoginFixture.run { login in
            let attempt = try await login.open(LoginFixture.markup)
            try #require(try await login.get(attempt.answer, cookie: attempt.cookie).status == 303)
            let page = try await login.get(attempt.done)
            #expect(page.body.contains("<code>&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;</code>"))
            #expect(!page.body.contains("<img"))
        }
    }

    @Test(arguments: [
        ("plain, ünïcödé ✓", "plain, ünïcödé ✓"),
        (#"<i a="x" b='y'>"#, "&lt;i a=&quot;x&quot; b=&#39;y&#39;&gt;"),
        ("&amp;", "&amp;amp;"),
        ("a\u{0}b\u{1B}c\nd\u{7F}e", "a\u{FFFD}b\u{FFFD}c\u{FFFD}d\u{FFFD}e"),
        ("abc\u{202E}def\u{2066}\u{200B}", "abc\u{FFFD}def\u{FFFD}\u{FFFD}"),
    ])
    func `interpolated text is escaped once, and literals and markup are not`(text: String, escaped: String) {
        #expect(Markup.escape(text) == escaped)
        let inner: Markup = "<b>\(text)</b>"
        let outer: Markup = "<p title=\"\(text)\">\(inner)\([inner, inner])</p>"
        #expect(outer.html == "<p title=\"\(escaped)\"><b>\(escaped)</b><b>\(escaped)</b><b>\(escaped)</b></p>")
    }

    @Test func `scopes that were not granted are named`() async throws {
        try await LoginFixture.run { login in
            login.provider.answer(
                with: .success(
                    TokenGrant(
                        accessToken: Secret("access-canary"),
                        refreshToken: Secret("refresh-canary"),
                        lifetime: .seconds(60),
                        scopes: ["read"]
                    )
                )
            )
            let attempt = try await login.open()
            try #require(try await login.get(attempt.answer, cookie: attempt.cookie).status == 303)
            let page = try await login.get(attempt.done)
            #expect(page.body.contains("<span>Signed in</span>"))
            #expect(page.body.contains("<ul><li><code>write</code></li></ul>"))
        }
    }

    @Test func `a failure is told with its code`() async throws {
        try await LoginFixture.run { login in
            login.provider.answer(with: .dead(.answerUnreadable))
            let attempt = try await login.open()
            try #require(try await login.get(attempt.answer, cookie: attempt.cookie).status == 303)
            let page = try await login.get(attempt.done)
            #expect(page.status == 200)
            #expect(page.body.contains("<span>The sign-in has failed</span>"))
            #expect(page.body.contains("<code>code_refused</code>"))
            #expect(page.body.contains("The provider refused the code"))
        }
    }

    // MARK: - Waiting

    @Test func `the page at the end waits for the tokens`() async throws {
        let gate = Gate()
        try await LoginFixture.run { login in
            login.provider.hold(at: gate)
            let attempt = try await login.open()
            try #require(try await login.get(attempt.answer, cookie: attempt.cookie).status == 303)
            try await eventually("the code to be sent") { gate.waitingCount == 1 }
            let reads = login.store.count(of: .read)
            async let page = login.get(attempt.done)
            // The second time, it has waited.
            try await eventually("the page to look twice") { login.store.count(of: .read) >= reads + 2 }
            gate.open()
            #expect(try await page.body.contains("<span>Signed in</span>"))
        }
    }

    @Test(arguments: [true, false])
    func `after five seconds the page at the end asks again by itself`(isAnswered: Bool) async throws {
        let clock = ManualClock()
        let gate = Gate()
        try await LoginFixture.run(waiting: Timepiece(ages: clock) { clock.wall }) { login in
            login.provider.hold(at: gate)
            let attempt = try await login.open()
            if isAnswered { try #require(try await login.get(attempt.answer, cookie: attempt.cookie).status == 303) }
            let begin = clock.now
            async let waiting = login.get(attempt.done)
            try await clock.advance(bySleepersWithin: .seconds(1), until: "five seconds of waiting") {
                begin.duration(to: clock.now) >= .seconds(5)
            }
            let page = try await waiting
            #expect(page.status == 200)
            #expect(page.headers.first(name: "refresh") == "2")
            #expect(page.body.contains(isAnswered ? "Getting the tokens" : "Waiting for the provider"))
            #expect(begin.duration(to: clock.now) == .seconds(5))
            gate.open()
        }
    }

    // MARK: - Without an end

    private static let unknown = "/login/done/\(String(repeating: "0", count: 32))-\(String(repeating: "1", count: 32))"

    @Test func `an unknown sign-in, or one in whose place another has begun, is not found`() async throws {
        try await LoginFixture.run { login in
            let first = try await login.open()
            _ = try await login.begin()
            for path in [Self.unknown, first.done, "/login/start/\(first.id)"] {
                let answer = try await login.get(path)
                #expect(answer.status == 404)
                #expect(answer.body.contains("There is no such sign-in"))
            }
            #expect(try await login.get(first.answer, cookie: first.cookie).status == 409)
        }
    }

    @Test func `a cancelled sign-in can't be opened or answered any more`() async throws {
        try await LoginFixture.run { login in
            let attempt = try await login.open()
            _ = try await login.signIns.cancel(attempt.id)
            #expect(try await login.get(attempt.done).body.contains("<span>The sign-in was cancelled</span>"))
            #expect(try await login.get("/login/start/\(attempt.id)").status == 409)
            #expect(try await login.get(attempt.answer, cookie: attempt.cookie).status == 409)
            #expect(login.provider.codes.isEmpty)
        }
    }

    @Test func `a sign-in whose time is over can't be opened or answered any more`() async throws {
        let clock = ManualClock()
        try await LoginFixture.run(timepiece: Timepiece(ages: clock) { clock.wall }) { login in
            let attempt = try await login.open()
            clock.advance(by: .seconds(601))
            #expect(try await login.get(attempt.done).body.contains("<span>The time for this sign-in is over</span>"))
            #expect(try await login.get("/login/start/\(attempt.id)").status == 409)
            #expect(try await login.get(attempt.answer, cookie: attempt.cookie).status == 409)
            #expect(login.provider.codes.isEmpty)
        }
    }

    @Test func `a sign-in that comes back in another way is not shown here`() async throws {
        try await LoginFixture.run { login in
            let begun = try await login.signIns.begin(
                AccountID("alice"),
                .paste,
                by: .admin("olga", at: "127.0.0.1")
            )
            #expect(try await login.get("/login/done/\(begun.id)").status == 404)
            #expect(try await login.get("/login/start/\(begun.id)").status == 409)
        }
    }

    @Test(arguments: [
        (AuthorizationServerError.Code.unreachable, 503), (AuthorizationServerError.Code.refused, 502),
        (AuthorizationServerError.Code.malformed, 502),
    ])
    func `a provider that can't be asked is told, and the sign-in goes on when it can`(
        code: AuthorizationServerError.Code,
        status: Int
    ) async throws {
        try await LoginFixture.run { login in
            let begun = try await login.begin()
            login.provider.refuse(with: AuthorizationServerError(code, "it is <ill>"))
            let answer = try await login.get("/login/start/\(begun.id)")
            #expect(answer.status == status)
            #expect(answer.headers["set-cookie"].isEmpty)
            #expect(answer.body.contains("Provider acme: it is &lt;ill&gt;."))
            login.provider.refuse(with: nil)
            _ = try await login.open("alice", begun.id)
        }
    }
}
