import NIOCore
import Proxy
import Testing

/// A gateway without callers, and a browser on the same machine.
@Suite struct WebPageRuleTests {
    /// The response status of one request on its own connection.
    private func status(_ fields: String, path: String, on rig: Rig) async throws -> Int {
        let caller = try await rig.caller()
        defer { caller.close() }
        try await caller.send("GET \(path) HTTP/1.1\r\n\(fields)\r\n\r\n")
        return try await caller.answer().head.status
    }

    /// Status 404 means that the request was admitted, and that no route matches its path.
    static let rows: [(String, Int)] = [
        ("Host: localhost", 404), ("Host: LocalHost:8080", 404), ("Host: 127.0.0.1:8080", 404),
        ("Host: 127.9.8.7", 404),
        ("Host: [::1]:8080", 404), ("Host: Api.Local", 404), ("Host: api.local:1", 404),
        ("Host: localhost\r\nSec-Fetch-Site: none", 404), ("Host: localhost\r\nSec-Fetch-Mode: cors", 404),
        ("Host: localhost\r\nReferer: https://evil.example/", 404),
        ("Host: localhost\r\nOrigin: https://evil.example", 403), ("Host: localhost\r\nOrigin: null", 403),
        ("Host: localhost\r\norigin:", 403), ("Host: localhost\r\nOrigin: http://localhost:8080", 403),
        ("Host: localhost\r\nSec-Fetch-Site: cross-site", 403), ("Host: localhost\r\nSec-Fetch-Site: same-origin", 403),
        ("Host: localhost\r\nSec-Fetch-Site: same-site", 403), ("Host: localhost\r\nSec-Fetch-Site:", 403),
        ("Host: localhost\r\nSec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site", 403),
        ("Host: evil.example", 403), ("Host: evil.example:8080", 403), ("Host: localhost.evil.example", 403),
        ("Host: 127.0.0.1.evil.example", 403), ("Host: 127.evil.example", 403), ("Host: 127.0.0.1.1", 403),
        ("Host: 127.0.0", 403), ("Host: 127.0..1", 403), ("Host: 128.0.0.1", 403), ("Host: 10.0.0.1", 403),
        ("Host: [::2]", 403), ("Host: api.local.evil.example", 403), ("Host: xlocalhost", 403),
        ("Host: localhost\r\nConnection: Origin\r\nOrigin: https://evil.example", 403),
    ]

    private static var setup: Rig.Setup {
        Rig.Setup(routes: { port in
            [
                .sample(port: port),
                .sample(port: port) { plan in
                    plan.name = "hosted"
                    plan.host = "API.local"
                    plan.path = "/hosted/"
                },
            ]
        })
    }

    @Test(arguments: rows)
    func `over TCP requests from web pages and requests for a foreign host are refused`(fields: String, status: Int)
        async throws
    {
        try await withRig(Self.setup) { (rig: Rig) async throws in
            let path = status == 404 ? "/nowhere/" : "/acme/"
            #expect(try await self.status(fields, path: path, on: rig) == status)
            #expect(rig.upstream.connections == 0)
        }
    }

    @Test func `the host of an absolute target is checked too`() async throws {
        try await withRig(Self.setup) { (rig: Rig) async throws in
            let evil = "http://evil.example/acme/"
            #expect(try await self.status("Host: evil.example", path: evil, on: rig) == 403)
            let own = "http://localhost/nowhere/"
            #expect(try await self.status("Host: localhost", path: own, on: rig) == 404)
            #expect(rig.upstream.connections == 0)
        }
    }

    @Test func `a request from a web page does not change how later requests on the connection are judged`()
        async throws
    {
        try await withRig(Self.setup) { (rig: Rig) async throws in
            let caller = try await rig.caller()
            for (field, status) in [("X: y", 404), ("Origin: https://evil.example", 403), ("X: y", 404)] {
                try await caller.send("GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\(field)\r\n\r\n")
                #expect(try await caller.answer().head.status == status)
            }
        }
    }

    @Test func `an HTTP_1_0 request without a host is admitted, as no browser sends one`() async throws {
        try await withRig(Self.setup) { (rig: Rig) async throws in
            let caller = try await rig.caller()
            try await caller.send("GET /nowhere HTTP/1.0\r\n\r\n")
            #expect(try await caller.answer().head.status == 404)
        }
    }

    @Test func `with callers only the key decides, whatever Origin and Host say`() async throws {
        var setup = Self.setup
        setup.callers = [CallerConfiguration(name: "a", keys: [try .of("right")])]
        try await withRig(setup) { (rig: Rig) async throws in
            let fields = "Host: evil.example\r\nOrigin: https://evil.example\r\nSec-Fetch-Site: cross-site"
            #expect(try await self.status(fields + "\r\nMartlet-Key: right", path: "/nowhere/", on: rig) == 404)
            #expect(try await self.status(fields, path: "/nowhere/", on: rig) == 401)
        }
    }
}
