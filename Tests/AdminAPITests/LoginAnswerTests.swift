internal import AdminAPI
internal import NIOHTTP1
internal import OAuth
internal import SignIn
internal import TestKit
internal import Testing
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// A sign-in through the listener, from the first address to the page at the end.
@Suite struct LoginAnswerTests {
    @Test func `the first address sets a cookie and sends the browser to the provider`() async throws {
        try await LoginFixture.run { login in
            let begun = try await login.begin()
            #expect(begun.url == "https://martlet.example/login/start/\(begun.id)")

            let answer = try await login.get("/login/start/\(begun.id)")

            #expect(answer.status == 303)
            let location = try #require(answer.headers.first(name: "location"))
            #expect(location == login.provider.requests.first)
            #expect(location.hasPrefix("https://login.acme.example/authorize?"))
            #expect(answer.headers["set-cookie"].count == 1)
            let cookie = try #require(answer.headers.first(name: "set-cookie"))
            let name = "__Secure-martlet-sign-in-\(begun.id.rawValue.dropFirst(33).prefix(12))="
            #expect(cookie.hasPrefix(name))
            let rest = cookie.dropFirst(name.count + 43)
            #expect(rest == "; Path=/login/; HttpOnly; SameSite=Lax; Secure; Max-Age=600")
        }
    }

    @Test func `over plain HTTP the cookie is not Secure, because browsers would refuse it`() async throws {
        try await LoginFixture.run(redirectURI: "http://127.0.0.1:8083/login/callback") { login in
            let begun = try await login.begin()
            let answer = try await login.get("/login/start/\(begun.id)", ["Host": "127.0.0.1:8083"])
            let cookie = try #require(answer.headers.first(name: "set-cookie"))
            #expect(cookie.hasPrefix("martlet-sign-in-"))
            #expect(cookie.hasSuffix("; Path=/login/; HttpOnly; SameSite=Lax; Max-Age=600"))
        }
    }

    @Test(arguments: ["alice", "carol"])
    func `the answer with the cookie gets the tokens, and its address leaves the browser`(
        account: String
    ) async throws {
        try await LoginFixture.run { login in
            let attempt = try await login.open(account)
            #expect(attempt.answer.hasPrefix(account == "carol" ? "/login/callback/beta?" : "/login/callback?"))

            let answer = try await login.get(attempt.answer, cookie: attempt.cookie)

            #expect(answer.status == 303)
            #expect(answer.headers.first(name: "location") == attempt.done)
            let name = try #require(attempt.cookie.split(separator: "=").first)
            #expect(
                answer.headers["set-cookie"]
                    == ["\(name)=; Path=/login/; HttpOnly; SameSite=Lax; Secure; Max-Age=0"]
            )
            let page = try await login.get(attempt.done)
            #expect(page.status == 200)
            #expect(page.body.contains("<span>Signed in</span>"))
            #expect(page.body.contains("<code>\(account)</code>"))
            #expect(page.headers.first(name: "refresh") == nil)
            #expect(await login.status(of: account)?.state == .valid)
            #expect(login.provider.codes == [Secret("code-canary")])
        }
    }

    @Test func `two windows with sign-ins of two accounts don't disturb each other`() async throws {
        try await LoginFixture.run { login in
            let (first, second) = (try await login.open("alice"), try await login.open("bob"))
            #expect(first.cookie.split(separator: "=")[0] != second.cookie.split(separator: "=")[0])
            for attempt in [first, second] {
                let answer = try await login.get(attempt.answer, cookie: "\(first.cookie); \(second.cookie)")
                #expect(answer.status == 303)
                #expect(answer.headers.first(name: "location") == attempt.done)
            }
        }
    }

    @Test func `an address that is opened twice goes on with the later request`() async throws {
        try await LoginFixture.run { login in
            let first = try await login.open()
            let second = try await login.open("alice", first.id)
            #expect(first.location != second.location)

            let early = try await login.get(first.answer, cookie: first.cookie)
            #expect(early.status == 400)
            #expect(early.body.contains("Nothing was changed"))
            let late = try await login.get(second.answer, cookie: second.cookie)
            #expect(late.status == 303)
        }
    }

    @Test func `an answer without the right cookie changes nothing, and the right one still counts`() async throws {
        try await LoginFixture.run { login in
            let (attempt, other) = (try await login.open("alice"), try await login.open("bob"))
            let name = try #require(attempt.cookie.split(separator: "=").first)
            for cookie in [nil, other.cookie, "\(name)=AAAA", "x\(attempt.cookie)", "\(name)"] {
                let answer = try await login.get(attempt.answer, cookie: cookie)
                #expect(answer.status == 400)
                #expect(answer.headers["set-cookie"].isEmpty)
                #expect(answer.body.contains("Nothing was changed"))
            }
            #expect(login.provider.codes.isEmpty)
            #expect(try await login.signIns.report(on: attempt.id).state == .pending)

            let answer = try await login.get(attempt.answer, cookie: attempt.cookie)
            #expect(answer.status == 303)
        }
    }

    @Test func `of many cookies the last eight are tried`() async throws {
        try await LoginFixture.run { login in
            let attempt = try await login.open()
            let others = (10...17).map { "__Secure-martlet-sign-in-0123456789\($0)=x" }.joined(separator: "; ")
            let crowded = try await login.get(attempt.answer, cookie: "\(attempt.cookie); \(others)")
            #expect(crowded.status == 400)
            let last = try await login.get(attempt.answer, cookie: "theme=dark; \(others); \(attempt.cookie)")
            #expect(last.status == 303)
        }
    }

    @Test(arguments: [
        "/login/callback", "/login/callback?", "/login/callback?code=code-canary", "/login/callback?state=x&code=y",
        "/login/callback?state=STATE", "/login/callback?state=STATE&state=STATE&code=y", "/login/other?ANSWER",
        "/login/callback/?ANSWER",
    ])
    func `anything but an answer to the sign-in changes nothing`(template: String) async throws {
        try await LoginFixture.run { login in
            let attempt = try await login.open()
            let query = try #require(attempt.answer.split(separator: "?").last)
            let state = try #require(query.split(separator: "=").last)
            let path = template.replacing("ANSWER", with: query).replacing("STATE", with: state)

            let answer = try await login.get(path, cookie: attempt.cookie)

            #expect(answer.status == 400)
            #expect(login.provider.codes.isEmpty)
            #expect(try await login.get(attempt.answer, cookie: attempt.cookie).status == 303)
        }
    }

    @Test func `an answer that comes again changes nothing`() async throws {
        try await LoginFixture.run { login in
            let attempt = try await login.open()
            try #require(try await login.get(attempt.answer, cookie: attempt.cookie).status == 303)
            try #require(try await login.get(attempt.done).status == 200)
            let before = await login.status()

            let again = try await login.get(attempt.answer, cookie: attempt.cookie)

            #expect(again.status == 409)
            #expect(again.body.contains("This sign-in is over"))
            #expect(again.headers.first(name: "location") == nil)
            #expect(login.provider.codes.count == 1)
            #expect(await login.status() == before)
        }
    }

    @Test func `a sign-in that was denied says so`() async throws {
        try await LoginFixture.run { login in
            let attempt = try await login.open()
            let denied = attempt.answer.replacing(
                "code=code-canary",
                with: "error=access_denied&error_description=%3Cb%3Emorituri"
            )
            let answer = try await login.get(denied, cookie: attempt.cookie)
            #expect(answer.status == 303)
            let page = try await login.get(attempt.done)
            #expect(page.status == 200)
            #expect(page.body.contains("<span>The sign-in has failed</span>"))
            #expect(page.body.contains("The sign-in was denied at the provider (access_denied)."))
            #expect(!page.body.contains("morituri"))
        }
    }

    // MARK: - Without the store

    @Test func `an answer waits for a store that is out of reach`() async throws {
        try await LoginFixture.run { login in
            let attempt = try await login.open()
            login.store.fail(.away, under: .signIns, times: 3)
            let answer = try await login.get(attempt.answer, cookie: attempt.cookie)
            #expect(answer.status == 303)
            #expect(try await login.get(attempt.done).body.contains("<span>Signed in</span>"))
        }
    }

    @Test func `an answer that the store could not take works when it is loaded again`() async throws {
        let clock = ManualClock()
        try await LoginFixture.run(waiting: Timepiece(ages: clock) { clock.wall }) { login in
            let attempt = try await login.open()
            login.store.fail(.away, under: .signIns)
            let begin = clock.now
            async let waiting = login.get(attempt.answer, cookie: attempt.cookie)
            try await clock.advance(bySleepersWithin: .seconds(1), until: "ten seconds of tries") {
                begin.duration(to: clock.now) >= .seconds(10)
            }
            let answer = try await waiting
            #expect(answer.status == 503)
            #expect(answer.headers.first(name: "retry-after") == "5")
            #expect(answer.headers["set-cookie"].isEmpty)
            #expect(answer.body.contains("Reload this page to try again: the code was not used."))
            #expect(login.provider.codes.isEmpty)

            login.store.recover()
            #expect(try await login.get(attempt.answer, cookie: attempt.cookie).status == 303)
        }
    }

    @Test func `without the store a sign-in can't be opened, and can be when the store is back`() async throws {
        try await LoginFixture.run { login in
            let begun = try await login.begin()
            login.store.fail(.away, under: .signIns)
            let answer = try await login.get("/login/start/\(begun.id)")
            #expect(answer.status == 503)
            #expect(answer.headers.first(name: "retry-after") == "5")
            #expect(try await login.get("/login/done/\(begun.id)").status == 503)
            login.store.recover()
            _ = try await login.open("alice", begun.id)
        }
    }

    // MARK: - Logs

    @Test func `no log entry has the state, the cookie, the query or the whole id`() async throws {
        try await LoginFixture.run { login in
            let attempt = try await login.open()
            _ = try await login.get(attempt.answer)
            _ = try await login.get(attempt.answer, cookie: attempt.cookie)
            _ = try await login.get(attempt.answer, cookie: attempt.cookie)
            _ = try await login.get(attempt.done)
            let log = login.logs.text
            #expect(log.contains("a browser was sent to the provider to sign in login.id="))
            #expect(log.contains("a provider's answer to a sign-in has come by browser login.id="))
            let value = try #require(attempt.cookie.split(separator: "=").last)
            let state = try #require(attempt.answer.split(separator: "=").last)
            #expect(!log.contains(value) && !log.contains(state))
            #expect(!log.contains(attempt.id.rawValue.prefix(9)) && !log.contains("state="))
        }
    }
}
