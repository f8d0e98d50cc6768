internal import AdminAPI
internal import KillSwitch
internal import NIOHTTP1
internal import TestKit
internal import Testing
internal import TokenModel

/// The sign-in to the dashboard, and what a session may do.
@Suite struct DashboardSessionTests {
    private static let kill = #"{"scope":{"account":"alice"},"reason":"drill"}"#

    @Test func `given a right token, a session begins whose cookie is hidden from scripts and other sites`()
        async throws
    {
        try await AdminFixture.run { admin in
            var browser = Browser(admin)
            let answer = try await browser.signIn()

            #expect(answer.status == 200)
            let (cookie, key) = (try #require(browser.cookie), try #require(browser.key))
            #expect(cookie.hasPrefix("martlet-session-\(admin.server.address.port)="))
            let id = cookie.split(separator: "=")[1]
            #expect(answer.headers["set-cookie"] == ["\(cookie); Path=/; HttpOnly; SameSite=Strict"])
            #expect(id.count == 43 && key.count == 43 && id != key)
            #expect(answer.headers.first(name: "cache-control") == "no-store")
            let status = try await browser.send(.GET, "/v1/status")
            #expect(status.status == 200)
            let kill = try await browser.send(.POST, "/v1/kill", Self.kill)
            #expect(kill.status == 200)
            #expect(admin.kills.killedScopes == [.account(AccountID("alice"))])
        }
    }

    @Test func `given two sessions, each has its own id and key`() async throws {
        try await AdminFixture.run { admin in
            var (one, two) = (Browser(admin), Browser(admin))
            try await one.signIn()
            try await two.signIn()
            #expect(one.cookie != two.cookie)
            #expect(one.key != two.key)
            two.key = one.key
            let answer = try await two.send(.GET, "/v1/status")
            #expect(answer.status == 401)
        }
    }

    @Test(arguments: ["token=wrong", "token=", "", "token", "token=a&token=b", "token=%zz", "key=x", "{}"])
    func `given anything but a right token, no session begins`(form: String) async throws {
        try await AdminFixture.run { admin in
            let answer = try await Browser(admin).send(.POST, "/session", form)
            #expect(answer.problem == (form == "token=wrong" ? "admin_unauthorized" : "invalid_field"))
            #expect(!answer.headers.contains(name: "set-cookie"))
        }
    }

    @Test func `given a form-encoded token with a pasted line break, the sign-in succeeds`() async throws {
        try await AdminFixture.run(tokens: AdminTokens([Secret("a+b/c=%canary")])) { admin in
            var browser = Browser(admin)
            let answer = try await browser.signIn("+a%2Bb%2fc%3D%25canary%0D%0A")
            #expect(answer.status == 200)
        }
    }

    @Test func `wrong tokens at the sign-in are delayed and counted like those of the API`() async throws {
        let gate = Gate()
        try await AdminFixture.run(limits: AdminLimits(refusalsWaiting: 2), clock: GatedClock(gate: gate)) { admin in
            defer { gate.open() }
            let browser = Browser(admin)
            try await withThrowingTaskGroup(of: String?.self) { attempts in
                for _ in 0..<2 {
                    attempts.addTask { try await browser.send(.POST, "/session", "token=wrong").problem }
                }
                try await eventually("both to wait") { gate.waitingCount == 2 }
                attempts.addTask { try await browser.send(.POST, "/session", "token=wrong").problem }
                attempts.addTask {
                    try await admin.caller.send(.GET, "/v1/status", authorization: "Bearer wrong").problem
                }
                try await eventually("the crowd to wait too") { gate.waitingCount == 4 }
                gate.open()
                let problems = try await attempts.reduce(into: []) { $0.append($1 ?? "none") }
                #expect(problems.count { $0 == "admin_unauthorized" } == 2)
                #expect(problems.count { $0 == "too_many_attempts" } == 2)
            }
        }
    }

    @Test func `given only one half of a session, nothing opens`() async throws {
        try await AdminFixture.run { admin in
            var signedIn = Browser(admin)
            try await signedIn.signIn()
            for (hasCookie, hasKey) in [(true, false), (false, true), (false, false)] {
                var browser = signedIn
                if !hasCookie { browser.cookie = nil }
                if !hasKey { browser.key = nil }
                let reading = try await browser.send(.GET, "/v1/status")
                #expect(reading.problem == "admin_unauthorized")
                let killing = try await browser.send(.POST, "/v1/kill", Self.kill)
                #expect(killing.problem == "admin_unauthorized")
            }
            #expect(admin.kills.killedScopes.isEmpty)
        }
    }

    @Test(arguments: [(1, 200), (7, 200), (8, 401)])
    func `given planted cookies of the same name, the session's own is found among the first eight`(
        others: Int,
        status: Int
    ) async throws {
        let limits = AdminLimits(refusalDelay: .milliseconds(1))
        try await AdminFixture.run(limits: limits) { admin in
            var browser = Browser(admin)
            try await browser.signIn()
            let own = try #require(browser.cookie)
            let name = try #require(own.split(separator: "=").first)
            // Cookies with longer paths come first (RFC 6265 §5.4), but a browser may use another order.
            let foreign = (0..<others).map { "\(name)=planted-\($0)" }
            browser.cookie = (["other=1"] + foreign + [own]).joined(separator: "; ")
            let last = try await browser.send(.GET, "/v1/status")
            #expect(last.status == 200)
            browser.cookie = ([own] + foreign).joined(separator: "; ")
            let first = try await browser.send(.GET, "/v1/status")
            #expect(first.status == status)

            // The sign-out ends that session.
            browser.cookie = (foreign + [own]).joined(separator: "; ")
            let end = try await browser.send(.DELETE, "/session")
            #expect(end.status == 200)
            browser.cookie = own
            let after = try await browser.send(.GET, "/v1/status")
            #expect(after.status == 401)
        }
    }

    private enum Elsewhere: CaseIterable {
        case otherOrigin, otherPort, otherScheme, noOrigin, nullOrigin, crossSite, sameSite, typed, rebound
    }

    @Test(arguments: Elsewhere.allCases)
    private func `given a session's cookie and key from elsewhere, nothing is done`(_ place: Elsewhere) async throws {
        try await AdminFixture.run { admin in
            var browser = Browser(admin)
            try await browser.signIn()
            let address = admin.server.address
            switch place {
            case .otherOrigin: browser.origin = "http://evil.example"
            case .otherPort: browser.origin = "http://127.0.0.1:1"
            case .otherScheme: browser.origin = "https://\(address)"
            case .noOrigin: browser.origin = nil
            case .nullOrigin: browser.origin = "null"
            case .crossSite: browser.site = "cross-site"
            case .sameSite: browser.site = "same-site"
            case .typed: browser.site = "none"
            case .rebound:
                browser.host = "evil.example:\(address.port)"
                browser.origin = "http://evil.example:\(address.port)"
            }
            for (method, path, body) in [
                (HTTPMethod.POST, "/v1/kill", Self.kill), (.DELETE, "/session", ""),
                (.POST, "/session", "token=\(AdminFixture.adminToken)"),
            ] {
                let answer = try await browser.send(method, path, body)
                #expect(answer.status == 403)
                #expect(answer.problem == "admin_forbidden")
            }
            #expect(admin.kills.killedScopes.isEmpty)
            // The session still works for its own page.
            var own = Browser(admin)
            (own.cookie, own.key) = (browser.cookie, browser.key)
            let status = try await own.send(.GET, "/v1/status")
            #expect(status.status == 200)
        }
    }

    @Test func `given a cookie and a token, the token alone decides`() async throws {
        try await AdminFixture.run { admin in
            var browser = Browser(admin)
            try await browser.signIn()
            let (cookie, key) = (try #require(browser.cookie), try #require(browser.key))
            let wrong = try await admin.caller.send(
                .GET,
                "/v1/status",
                fields: ["cookie": cookie, "martlet-session": key, "authorization": "Bearer wrong"]
            )
            #expect(wrong.status == 401)
            let right = try await admin.caller.send(
                .GET,
                "/v1/status",
                fields: ["cookie": "other=1", "authorization": "Bearer \(AdminFixture.adminToken)", "origin": "null"]
            )
            #expect(right.status == 200)
        }
    }

    @Test func `given a session that was signed out, its id and key open nothing`() async throws {
        try await AdminFixture.run { admin in
            var browser = Browser(admin)
            try await browser.signIn()
            let name = try #require(browser.cookie?.split(separator: "=").first)
            let end = try await browser.send(.DELETE, "/session")
            #expect(end.status == 200)
            #expect(end.headers["set-cookie"] == ["\(name)=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"])
            let after = try await browser.send(.GET, "/v1/status")
            #expect(after.status == 401)
            let again = try await browser.send(.DELETE, "/session")
            #expect(again.status == 401)
        }
    }

    @Test func `given time, sessions end`() async throws {
        let clock = ManualClock()
        let limits = AdminLimits(refusalDelay: .milliseconds(1))
        try await AdminFixture.run(limits: limits, timepiece: Timepiece(ages: clock, wall: { clock.wall })) { admin in
            var browser = Browser(admin)
            try await browser.signIn()
            for _ in 0..<25 {
                clock.advance(by: .seconds(29 * 60))
                let answer = try await browser.send(.GET, "/v1/status")
                // 24 times 29 min are 11 h 36 min. The 25th request comes after 12 h.
                #expect(answer.status == (clock.now < .twelveHoursIn ? 200 : 401))
            }
            try await browser.signIn()
            clock.advance(by: .seconds(30 * 60))
            let answer = try await browser.send(.GET, "/v1/status")
            #expect(answer.status == 401)
        }
    }

    @Test func `given changed admin tokens, existing sessions end`() async throws {
        try await AdminFixture.run { admin in
            var browser = Browser(admin)
            try await browser.signIn()
            let same = admin.server.replaceTokens(try #require(AdminTokens([Secret(AdminFixture.adminToken)])))
            #expect(!same)
            let before = try await browser.send(.GET, "/v1/status")
            #expect(before.status == 200)
            let others = admin.server.replaceTokens(try #require(AdminTokens([Secret("other-canary")])))
            #expect(others)
            let after = try await browser.send(.GET, "/v1/status")
            #expect(after.status == 401)
        }
    }

    @Test func `the metrics listener has no dashboard`() async throws {
        try await AdminFixture.run { admin in
            let server = try await AdminServer.listenForMetrics(
                on: AdminAddress(host: "127.0.0.1", port: 0),
                monitor: admin.monitor,
                logger: admin.logs.logger
            )
            let running = Task { try await server.run() }
            let caller = AdminCaller(base: "http://\(server.address)", token: "none")
            let outcome = await Result {
                for path in ["/", "/dashboard.js", "/session"] {
                    let answer = try await caller.send(path == "/session" ? .POST : .GET, path, fields: [:])
                    #expect(answer.status == 404)
                }
            }
            server.stop()
            try await running.value
            try await caller.close()
            try outcome.get()
        }
    }
}

extension BootInstant {
    /// Twelve hours after the start of a ``ManualClock``, which begins an hour after boot.
    fileprivate static let twelveHoursIn = BootInstant(nanoseconds: 13 * 3_600_000_000_000)
}
