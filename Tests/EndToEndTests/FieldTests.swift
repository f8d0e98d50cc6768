import TestKit
import Testing

/// How the gateway changes header fields of requests and responses, as curl and an API see them.
@Suite struct FieldTests {
    private static let policies =
        #""Alt-Svc":"h3=\":443\"","Strict-Transport-Security":"max-age=1","Operation-Location":"/api/jobs/1","#
        + #""Refresh":"5; url=/api/jobs/1","Set-Cookie":"session=canary""#

    /// The response that curl receives to a request with a cookie. The upstream sends a cookie and related fields.
    private func answer(_ gateway: Gateway, _ mock: Mock) async throws -> String {
        try await mock.setFaults(#"[{"on":"api","path":"/api/echo","headers":{\#(Self.policies)},"body":"{}"}]"#)
        return try await gateway.curl("echo", ["-i", "-b", "session=canary"])
    }

    @Test func `cookies and host policies are dropped, which the log reports once`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)

        for _ in 0..<3 {
            let answer = try await self.answer(gateway, mock).lowercased()
            #expect(answer.hasPrefix("http/1.1 200 "))
            for name in ["set-cookie", "alt-svc", "strict-transport-security"] {
                #expect(!answer.contains("\(name):"), "\(name)")
            }
            #expect(answer.contains("operation-location: /acme/jobs/1"))
            #expect(answer.contains("refresh: 5; url=/acme/jobs/1"))
            let echo = try Echo(
                try await gateway.curl("echo", ["-b", "session=canary", "-H", "X-Original-URL: /admin"])
            )
            #expect(echo.values("Cookie") == [] && echo.values("X-Original-URL") == [])
        }

        gateway.program.signal(15)
        let log = try await gateway.program.ended().errors
        let warnings = log.split(separator: "\n").filter { $0.contains("cookies were dropped") }
        #expect(warnings.count == 2)
        for field in ["Cookie", "Set-Cookie"] {
            #expect(
                warnings.count { $0.contains(#""http.field":"\#(field)""#) && $0.contains(#""level":"warning""#) } == 1
            )
        }
        #expect(!log.contains("canary"))
    }

    @Test func `a route with cookies and forwarded set passes cookies and names the caller`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory, route: "cookies: true\n    forwarded: append")
        try await gateway.importGrant(from: mock)

        #expect(try await self.answer(gateway, mock).lowercased().contains("set-cookie: session=canary"))
        let echo = try Echo(try await gateway.curl("echo", ["-b", "a=b", "-H", "X-Forwarded-For: 192.0.2.1"]))
        #expect(echo.values("Cookie") == ["a=b"])
        #expect(echo.values("X-Forwarded-For") == ["192.0.2.1, 127.0.0.1"])
        #expect(echo.values("X-Forwarded-Proto") == ["http"])
        #expect(echo.values("Forwarded").count == 1)
        gateway.program.signal(15)
        #expect(try await !gateway.program.ended().errors.contains("cookies were dropped"))
    }

    @Test func `names with underscores reach the API unless they resemble the gateway's own fields`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        let gateway = try await Gateway(mock, in: directory)
        try await gateway.importGrant(from: mock)

        let echo = try Echo(try await gateway.curl("echo", ["-H", "client_id: 7", "-H", "api_key: k"]))
        #expect(echo.values("client_id") == ["7"] && echo.values("api_key") == ["k"])
        for field in ["X_Forwarded_For: b", "Martlet_Account: b", "content_length: 3"] {
            let answer = try await gateway.curl("echo", ["-i", "-H", field])
            #expect(answer.hasPrefix("HTTP/1.1 400 ") && answer.contains("urn:martlet:error:bad_request"))
        }
        let answer = try await gateway.curl("echo", ["-i", "-d", "", "-H", "X-HTTP-Method-Override: TRACE"])
        #expect(answer.hasPrefix("HTTP/1.1 403 ") && answer.contains("urn:martlet:error:caller_forbidden"))
        #expect(try await mock.stats().api_requests.ok == 1)
    }
}
