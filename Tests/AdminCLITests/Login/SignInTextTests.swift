internal import AdminCLI
internal import Foundation
internal import Testing

@Suite struct SignInTextTests {
    /// Ten minutes before the end of ``SignInFixture``'s sign-ins.
    private let text = SignInText(times: RelativeTime(now: Date(timeIntervalSince1970: 1_767_225_600)))

    private static func account(_ state: String, expiresAt: String? = nil) throws -> AccountReply {
        let end = expiresAt.map { "\"\($0)\"" } ?? "null"
        return try SignInFixture.reply(
            """
            {"configured":true,"expires_at":\(end),"generation":1,"last_error":null,"name":"alice","provider":"acme",\
            "scopes":[],"state":"\(state)"}
            """
        ).read()
    }

    @Test func `a sign-in that brought tokens says until when they are valid`() throws {
        let done = try SignInFixture.signIn(state: "done")
        let account = try Self.account("valid", expiresAt: "2026-01-01T01:00:00.000Z")
        let end = "2026-01-01T01:00:00.000Z (in 60 min)"
        #expect(self.text.success(done, account) == "alice: signed in; valid until \(end)")
        #expect(self.text.success(done, try Self.account("valid")) == "alice: signed in")
        #expect(self.text.success(done, nil) == "alice: signed in")
        let killed = self.text.success(done, try Self.account("killed"))
        #expect(killed.hasPrefix("alice: signed in, but its state is killed; martlet kills shows"))
        #expect(self.text.failure(done) == nil)
        #expect(self.text.warning(done) == nil)
    }

    @Test func `missing scopes are named with what may help`() throws {
        let warning = try #require(self.text.warning(SignInFixture.signIn(state: "done", missing: ["read", "write"])))
        #expect(warning.hasPrefix("warning: these scopes were not granted: read write; "))
        #expect(warning.contains("login.scopes of providers.acme"))
        #expect(warning.contains("consent"))
    }

    @Test(arguments: [
        ("no_refresh_token", "login.extra (access_type: offline), login.prompt (consent)"),
        ("subject_differs", "another browser session"),
        ("code_refused", "login.redirect_uri of providers.acme"), ("interrupted", "martlet login alice starts another"),
        ("not_configured", "add accounts.alice"),
    ])
    func `a failed sign-in says why, and what helps`(code: String, help: String) throws {
        let signIn = try SignInFixture.signIn(state: "failed", error: (code, "the reason"))
        let failure = try #require(self.text.failure(signIn))
        #expect(failure.status == .no)
        #expect(failure.message.hasPrefix("the sign-in for alice failed: the reason; "))
        #expect(failure.message.contains(help), "\(failure.message)")
    }

    @Test(arguments: [
        ("failed", "access_denied", "the sign-in for alice failed: the reason"),
        ("failed", "of_tomorrow", "the sign-in for alice failed: the reason"),
        ("expired", "expired", "the sign-in for alice failed: the reason; martlet login alice starts another"),
        ("expired", nil, "the sign-in for alice failed: expired; martlet login alice starts another"),
        ("cancelled", nil, "the sign-in for alice was cancelled; its tokens are what they were"),
        ("of_tomorrow", nil, "the sign-in for alice failed: of_tomorrow"),
    ])
    func `every end but one fails the command`(state: String, code: String?, message: String) throws {
        let signIn = try SignInFixture.signIn(state: state, error: code.map { ($0, "the reason") })
        #expect(signIn.isOver)
        #expect(self.text.failure(signIn) == CommandFailure(.no, message))
    }

    @Test func `a device gets its code and address on lines of their own`() throws {
        let signIn = try SignInFixture.signIn(state: "pending", device: true)
        #expect(!signIn.isOver)
        #expect(
            self.text.invitation(signIn, by: .device, browser: false) == [
                "to sign in for alice, open this address on any device within 10 min, and type the code WDJB-MJHT:",
                "https://id.example/device", "or this one, which has the code in it:",
                "https://id.example/device?c=WDJB-MJHT",
            ]
        )
    }

    @Test(arguments: [(LoginWay.loopback, true), (.loopback, false), (.gateway, false), (.paste, false)])
    func `the address to open has a line of its own`(way: LoginWay, browser: Bool) throws {
        let lines = self.text.invitation(try SignInFixture.signIn(state: "pending"), by: way, browser: browser)
        #expect(lines.dropFirst().first == "https://id.example/authorize?state=s")
        #expect(lines.first?.contains("a browser opens") == browser)
    }

    @Test(arguments: [
        ("2026-01-01T00:00:30.500Z", Duration.milliseconds(30_500)), ("2025-12-31T00:00:00.000Z", .seconds(600)),
        ("2027-01-01T00:00:00.000Z", .seconds(600)), ("soon", .seconds(600)),
    ])
    func `an implausible end is not believed`(end: String, lifetime: Duration) throws {
        let json = try SignInFixture.json(state: "pending").replacing("2026-01-01T00:10:00.000Z", with: end)
        #expect(try SignInFixture.reply(json).read(SignInReply.self).lifetime == lifetime)
    }
}
