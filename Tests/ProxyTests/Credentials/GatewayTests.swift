import HTTPWire
import NIOCore
import Proxy
import Testing
import TokenModel

@Suite struct GatewayTests {
    private func gateway(_ routes: [RouteConfiguration] = [.sample(port: 1)], credential: UpstreamCredential? = nil)
        -> Gateway
    {
        let gateway = Gateway(RouteTable(routes))
        if let credential { gateway.apply(.installed(credential)) }
        return gateway
    }

    /// The gateway's decision for a caller that needs no key.
    private func decide(_ gateway: Gateway, _ request: RequestHead) -> Gateway.Decision {
        var caller = UnverifiedCaller(isOnUnixSocket: true)
        return gateway.decide(request, from: &caller)
    }

    private func match(_ gateway: Gateway, _ path: String = "/acme/") throws -> RouteTable.Match? {
        switch self.decide(gateway, try .parsed("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")) {
        case .forward(let match), .wait(let match): match
        case .locked, .options, .reply: nil
        }
    }

    /// The request head that may leave; `nil` when the gateway authorizes none.
    private func authorized(_ gateway: Gateway, _ path: String = "/acme/") throws -> String? {
        let match = try #require(try self.match(gateway, path))
        let bytes = ByteBuffer(string: "GET / HTTP/1.1\r\n")
        guard let head = gateway.authorize(bytes, match) else { return nil }
        return String(buffer: head.open())
    }

    @Test func `a request waits without a credential, leaves with one, and waits again once it is dropped`() throws {
        let request = try RequestHead.parsed("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
        let gateway = self.gateway()
        guard case .wait = self.decide(gateway, request) else {
            Issue.record("no pass, and it does not wait")
            return
        }
        gateway.apply(.installed(.sample()))
        guard case .forward = self.decide(gateway, request) else {
            Issue.record("a pass, and it does not go")
            return
        }
        gateway.apply(.dropped(Rig.account))
        guard case .wait = self.decide(gateway, request) else {
            Issue.record("no pass any more, and it does not wait")
            return
        }
    }

    @Test func `a request that matches no route gets a local reply`() throws {
        let request = try RequestHead.parsed("GET /other/ HTTP/1.1\r\nHost: a\r\n\r\n")
        guard case .reply(let error) = self.decide(self.gateway(), request) else {
            Issue.record("it goes somewhere")
            return
        }
        #expect(error.code == .noRoute)
    }

    @Test(arguments: [("/", "//evil/x", true), ("/", "/x//y", false), ("/v2/", "//evil/x", false), ("/", "/", false)])
    func `the rest of a path behind the route's prefix is never taken for a host`(
        upstream: String,
        rest: String,
        isRefused: Bool
    ) throws {
        let gateway = self.gateway([.sample(port: 1) { $0.upstream.path = upstream }])
        let request = try RequestHead.parsed("GET /acme\(rest) HTTP/1.1\r\nHost: a\r\n\r\n")
        if case .reply(let error) = self.decide(gateway, request) {
            #expect(error.code == .badRequest)
            #expect(isRefused)
        } else {
            #expect(!isRefused)
        }
    }

    @Test func `the injected line ends the head`() throws {
        let gateway = self.gateway(credential: .sample())
        #expect(try self.authorized(gateway) == "GET / HTTP/1.1\r\nAuthorization: Bearer token-1\r\n\r\n")
    }

    @Test func `the authorized head reports which token it carries`() throws {
        let gateway = self.gateway(credential: .sample(7))
        let match = try #require(try self.match(gateway))
        let bytes = ByteBuffer()
        let token = gateway.authorize(bytes, match)?.token
        #expect(token == TokenVersion(.sample(7)))
    }

    @Test func `an expired credential authorizes nothing`() throws {
        let gateway = self.gateway(credential: .sample(usableFor: .nanoseconds(-1)))
        #expect(try self.authorized(gateway) == nil)
    }

    @Test func `a dropped credential authorizes nothing`() throws {
        let gateway = self.gateway(credential: .sample())
        gateway.apply(.dropped(Rig.account))
        #expect(try self.authorized(gateway) == nil)
    }

    @Test func `a newer credential replaces the older one`() throws {
        let gateway = self.gateway(credential: .sample(1))
        gateway.apply(.installed(.sample(2)))
        #expect(try self.authorized(gateway)?.contains("Bearer token-2\r\n") == true)
    }

    @Test func `events of accounts that no route uses are ignored`() throws {
        let gateway = self.gateway(credential: .sample())
        gateway.apply(.installed(.sample(2, account: AccountID("bob"))))
        gateway.apply(.dropped(AccountID("bob")))
        #expect(try self.authorized(gateway)?.contains("token-1") == true)
    }

    @Test func `each route injects its own header line with the token of its own account`() throws {
        let gateway = self.gateway([
            .sample(port: 1),
            .sample(port: 1) { plan in
                plan.path = "/key/"
                plan.injection = Injection(header: "X-Api-Key", prefix: "")
            },
            .sample(port: 1) { plan in
                plan.path = "/bob/"
                plan.account = .fixed(AccountID("bob"))
            },
        ])
        gateway.apply(.installed(.sample(1)))
        gateway.apply(.installed(.sample(2, account: AccountID("bob"))))
        #expect(try self.authorized(gateway, "/acme/") == "GET / HTTP/1.1\r\nAuthorization: Bearer token-1\r\n\r\n")
        #expect(try self.authorized(gateway, "/key/") == "GET / HTTP/1.1\r\nX-Api-Key: token-1\r\n\r\n")
        #expect(try self.authorized(gateway, "/bob/") == "GET / HTTP/1.1\r\nAuthorization: Bearer token-2\r\n\r\n")
    }

    @Test func `the first acceptance of a token by an upstream is reported once, and only for the current token`() {
        let gateway = self.gateway(credential: .sample(2))
        let old = gateway.prove(TokenVersion(.sample(1)), slot: 0)
        let first = gateway.prove(TokenVersion(.sample(2)), slot: 0)
        let second = gateway.prove(TokenVersion(.sample(2)), slot: 0)
        gateway.apply(.installed(.sample(3)))
        let next = gateway.prove(TokenVersion(.sample(3)), slot: 0)
        #expect([old, first, second, next] == [false, true, false, true])
    }

    @Test func `a repeated event keeps what is known of the credential`() {
        let credential = UpstreamCredential.sample()
        let gateway = self.gateway(credential: credential)
        let first = gateway.prove(TokenVersion(credential), slot: 0)
        gateway.apply(.installed(credential))
        let second = gateway.prove(TokenVersion(credential), slot: 0)
        #expect([first, second] == [true, false])
    }
}

@Suite struct InjectionTests {
    @Test(arguments: [
        (Injection(), "Authorization: Bearer token-1\r\n\r\n"),
        (Injection(header: "X-Api-Key", prefix: ""), "X-Api-Key: token-1\r\n\r\n"),
        (Injection(header: "Authorization", prefix: "token "), "Authorization: token token-1\r\n\r\n"),
    ])
    func `the line carries header, prefix and token, and ends the head`(injection: Injection, line: String) {
        #expect(String(buffer: injection.line(for: .sample())) == line)
    }
}
