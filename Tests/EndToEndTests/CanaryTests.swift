import Crypto
import Foundation
import TestKit
import Testing

/// No token, key or secret occurs in anything that the gateway writes or sends, whatever fault occurs.
@Suite struct CanaryTests {
    private static let callerKey = "canary-caller-key-0123456789"

    /// Responses that real providers have sent, with tokens in unexpected places.
    private static let tokenFaults = [
        #""status": 400, "body": "{\"error\":\"invalid_grant\",\"error_description\":\"PLANTED is dead\"}""#,
        #""status": 400, "body": "{\"error\":\"PLANTED\"}""#,
        #""status": 403, "body": "PLANTED""#,
        #""status": 429, "headers": {"Retry-After": "1", "X-Token": "PLANTED"}, "body": "PLANTED""#,
        #""status": 500, "body": "<h1>PLANTED</h1>""#,
        #""status": 302, "headers": {"Location": "http://127.0.0.1:9/PLANTED"}"#,
        #""status": 200, "body": "{\"access_token\":\"PLANTED"#
            + #"\",\"refresh_token\":\"PLANTED-next\",\"token_type\":\"Bearer\",\"expires_in\":60}""#,
        #""status": 200, "body": "{\"access_token\":\"PLANTED""#,
        #""status": 200, "body": "{\"access_token\":\"PLANTED x\",\"refresh_token\":\"PLANTED-next\"}""#,
        #""status": 200, "body": "{\"ok\":false,\"error\":\"PLANTED\"}""#,
        #""drop": "before""#, #""drop": "after_commit""#, #""drop": "mid_body""#, #""delay_answer": "300ms""#,
        #""status": 401, "body": "{\"error\":\"invalid_client\",\"error_description\":\"PLANTED\"}""#,
    ]

    private static let apiFaults = [
        #""status": 401, "headers": {"WWW-Authenticate": "Bearer error=\"invalid_token\", error_description=\"PLANTED\""}"#,
        #""status": 502, "body": "PLANTED""#, #""drop": "before""#, #""drop": "mid_body""#,
    ]

    @Test func `nothing leaks, whatever the provider, the API and the callers do`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock("--rotate", "--reuse-detection", in: directory)
        let digest = SHA256.hash(data: Data(Self.callerKey.utf8)).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0\(digits)" : digits
        }
        let callers = "callers: [{ name: c, key_sha256: \(digest.joined()) }]"
        let gateway = try await Gateway(mock, in: directory, more: callers)
        var scan = CanaryScan()
        scan.add("the caller's key", Self.callerKey)
        scan.add("the client secret", "mock-secret")
        scan.add("the admin token", try Self.text(of: "state/admin.token", in: directory), home: "admin.token")
        scan.add("the sealing key", try Self.text(of: "state/sealing.key", in: directory), home: "sealing.key")

        // Given every fault of the mock, each with its own grant and a request that meets the fault
        let rules = Self.tokenFaults.map { ("token", $0) } + Self.apiFaults.map { ("api", $0) }
        for (number, (place, rule)) in rules.enumerated() {
            let planted = "canary-planted-\(number)-\(UInt64.random(in: .min ... .max))"
            scan.add("what fault \(number) answers", planted)
            for (kind, token) in try await self.importGrant(from: mock, into: gateway) {
                scan.add("the \(kind) of grant \(number)", token)
            }
            if place == "token" { try await mock.expire() }
            try await mock.setFaults(
                "[{\"on\": \"\(place)\", \"times\": 2, \(rule.replacing("PLANTED", with: planted))}]"
            )
            let answer = try await self.request(gateway, query: planted)
            if answer.contains("urn:martlet:error:") { scan.look(at: answer, in: "the answer to fault \(number)") }
            let refresh = try await gateway.martlet("accounts", "refresh", "alice")
            scan.look(at: refresh.output + refresh.errors, in: "accounts refresh after fault \(number)")
            try await mock.setFaults("[]")
        }
        for arguments in [
            ["accounts", "list", "--json"], ["accounts", "show", "alice"], ["status"], ["status", "--json"],
            ["audit"], ["audit", "--json"],
        ] {
            let outcome = try await Program.run(
                "martlet",
                arguments + ["--admin", gateway.admin, "--admin-token-file", directory.path(of: "state/admin.token")],
                in: directory
            )
            #expect(outcome.exitCode == 0)
            scan.look(at: outcome.output + outcome.errors, in: arguments.joined(separator: " "))
        }
        scan.look(at: try await gateway.samples().joined(separator: "\n"), in: "metrics")
        gateway.program.signal(15)
        let ended = try await gateway.program.ended()
        #expect(ended.exitCode == 0)
        scan.look(at: ended.output, in: "standard output")
        scan.look(at: ended.errors, in: "the log")
        try scan.look(into: directory.path(of: "state"))

        // Then the log was at its most verbose level, it has a line for each request, and no secret occurs anywhere
        #expect(ended.errors.contains(#""level":"trace""#) || ended.errors.contains(#""level":"debug""#))
        #expect(ended.errors.split(separator: "\n").count { $0.contains("http.status") } >= rules.count)
        #expect(scan.findings == [])
    }

    @Test func `none of the gateway's own credentials leak`() async throws {
        let directory = try TemporaryDirectory()
        let mock = try await Mock(in: directory)
        var scan = CanaryScan()
        let secrets = [
            "first-secret": "canary-first-client-secret", "second-secret": "canary-second-client-secret",
            "name": "canary-owner-name", "password": "canary-owner-password", "key.pem": TestCertificates.clientKey,
        ]
        for (file, secret) in secrets {
            try directory.write(Array(secret.utf8), to: file)
            try directory.setMode(0o600, of: file)
            scan.add(
                "what stands in \(file)",
                String(secret.split(separator: "\n").dropLast().last ?? Substring(secret))
            )
        }
        let owner = "password, username: { file: name }, password: { file: password }"
        let key = "private_key: { file: key.pem, algorithm: ES256 }"
        // The mock knows none of these clients, so it refuses each one. The log has all its details at this level.
        let ways: [(secret: String, settings: String, grant: String)] = [
            ("[{ file: first-secret }, { file: second-secret }]", "client_auth: client_secret_post", owner),
            ("{ file: first-secret }", "client_auth: private_key_jwt\n    \(key)", owner),
            (
                "{ file: first-secret }", "client_auth: client_secret_basic",
                "jwt-bearer, assertion: { issuer: me, \(key) }"
            ),
        ]
        for way in ways {
            let gateway = try await Gateway(
                mock,
                settings: way.settings,
                secret: way.secret,
                grant: way.grant,
                in: directory
            )
            scan.look(at: try await gateway.curl("echo", ["-i"]), in: "an answer")
            let refresh = try await gateway.martlet("accounts", "refresh", "alice")
            #expect(refresh.exitCode == 1)
            scan.look(at: refresh.output + refresh.errors, in: "accounts refresh")
            let check = try await Program.run("martlet", ["check"], in: directory)
            #expect(check.exitCode == 0, "\(check.errors)")
            scan.look(at: check.output + check.errors, in: "check")
            gateway.program.signal(15)
            let ended = try await gateway.program.ended()
            #expect(ended.errors.contains("token endpoint gave no tokens"))
            // Every assertion signed with an ES256 key begins with this text.
            #expect(!(ended.errors + refresh.errors).contains("eyJhbGciOiJFUzI1NiIs"))
            scan.look(at: ended.output + ended.errors, in: "the log")
        }
        try scan.look(into: directory.path(of: "state"))
        #expect(scan.findings == [])
        #expect(try await mock.stats().token_requests.invalid_client >= ways.count)
    }

    @Test(arguments: ["log", "database", "answer"])
    func `a planted leak is found`(place: String) throws {
        let directory = try TemporaryDirectory()
        var scan = CanaryScan()
        scan.add("the token", "rt-0123456789-abcdefghij")
        scan.add("another", "rt-that-is-nowhere-at-all")
        switch place {
        case "log":
            scan.look(at: #"{"level":"debug","message":"asked with rt-0123456789-abcdefghij"}"#, in: place)
        case "database":
            let record = #"{"t":"rt-0123456789-abcdefghij"}"#
            try directory.write([0, 1, 2] + Array(Data(record.utf8).base64EncodedData()), to: place)
            try scan.look(into: directory.path)
        default:
            scan.look(at: Array("rt-0123456789-abcdefghij".utf8).map { String($0, radix: 16) }.joined(), in: place)
        }
        #expect(scan.findings == ["the token in \(place)"])
    }

    @Test func `a secret is allowed in its own file only`() throws {
        let directory = try TemporaryDirectory()
        try directory.write(Array("admin-token-of-this-test".utf8), to: "admin.token")
        try directory.write(Array("admin-token-of-this-test".utf8), to: "tokens.db")
        var scan = CanaryScan()
        scan.add("the admin token", "admin-token-of-this-test", home: "admin.token")
        try scan.look(into: directory.path)
        #expect(scan.findings == ["the admin token in tokens.db"])
    }

    private static func text(of file: String, in directory: TemporaryDirectory) throws -> String {
        let bytes = try #require(directory.bytes(of: file))
        let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").last.map(String.init)
        return try #require(line?.split(separator: " ").last.map(String.init))
    }

    /// Imports a new grant.
    ///
    /// - Returns: its tokens, by kind.
    private func importGrant(from mock: Mock, into gateway: Gateway) async throws -> [(String, String)] {
        let grant = try await mock.grant("alice")
        let outcome = try await gateway.martlet("accounts", "import", "alice", input: grant)
        try #require(outcome.exitCode == 0, "\(outcome.errors)")
        let members = try #require(try JSONSerialization.jsonObject(with: Data(grant.utf8)) as? [String: Any])
        return try ["refresh_token", "access_token"].map { ($0, try #require(members[$0] as? String)) }
    }

    /// Sends a request that carries secrets in its URL, fields and body, and returns curl's output even if curl fails.
    private func request(_ gateway: Gateway, query: String) async throws -> String {
        let outcome = try await Program.run(
            "/usr/bin/curl",
            [
                "-q", "--noproxy", "*", "-sS", "-i", "\(gateway.callers)/acme/echo?token=\(query)",
                "-H", "Authorization: Bearer \(Self.callerKey)", "-H", "X-Secret: \(query)", "-d", query,
            ],
            in: try TemporaryDirectory()
        )
        return outcome.output
    }
}
