import NIOCore
import Proxy
import TestKit
import Testing

/// Routes that tell their upstream where a request comes from.
@Suite struct ForwardedTests {
    private static let fields =
        "X-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.1;proto=https\r\nX-Forwarded-Proto: https\r\n"
        + "X-Forwarded-Host: b\r\nX-Real-IP: 192.0.2.1\r\nX-Forwarded-Port: 81\r\n"

    /// The request's fields about the caller, as they arrive at the upstream.
    private func arriving(_ rig: Rig, from caller: Peer, _ fields: String) async throws -> [String] {
        try await caller.send("GET /acme/x HTTP/1.1\r\nHost: a\r\n\(fields)\r\n")
        let upstream = try await rig.upstream.accept()
        let head = try await upstream.head()
        try await upstream.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        #expect(try await caller.head().status == 200)
        upstream.close()
        return head.fields.filter { $0.name.lowercased().contains("forwarded") || $0.name.hasPrefix("X-Real") }
            .map { "\($0.name): \($0.value)" }
    }

    @Test func `forwarding fields are dropped unless the route says otherwise`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            #expect(try await self.arriving(rig, from: caller, Self.fields) == [])
        }
    }

    @Test func `a route that appends forwards the caller's own fields, followed by the caller's address`() async throws
    {
        try await withRig(.route { $0.appendsForwarded = true }) { rig in
            let caller = try await rig.caller()
            #expect(
                try await self.arriving(rig, from: caller, Self.fields) == [
                    "X-Forwarded-For: 192.0.2.1, 127.0.0.1", "X-Forwarded-Proto: https, http", "X-Forwarded-Host: b, a",
                    "Forwarded: for=192.0.2.1;proto=https, for=127.0.0.1;host=\"a\";proto=http",
                ]
            )
            // The next request on the connection reports the same.
            #expect(
                try await self.arriving(rig, from: caller, "") == [
                    "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Proto: http", "X-Forwarded-Host: a",
                    "Forwarded: for=127.0.0.1;host=\"a\";proto=http",
                ]
            )
        }
    }

    @Test func `a caller over TLS is reported as one`() async throws {
        var setup = Rig.Setup.route { $0.appendsForwarded = true }
        let files = try TLSFiles()
        setup.tls = try CallerTLS(files.pair("server"), clientAuthorities: nil)
        try await withRig(setup) { rig in
            let told = try await self.arriving(rig, from: rig.secureCaller(.caller()), "")
            #expect(told.contains("X-Forwarded-Proto: https"))
            #expect(told.last == "Forwarded: for=127.0.0.1;host=\"a\";proto=https")
        }
    }

    @Test func `a caller over a Unix socket is reported without an address`() async throws {
        let directory = try TemporaryDirectory()
        var setup = Rig.Setup.route { $0.appendsForwarded = true }
        setup.unixSocket = directory.path(of: "m.sock")
        try await withRig(setup) { rig in
            let caller = try await Peer.connect(toSocket: directory.path(of: "m.sock"))
            defer { caller.close() }
            let told = try await self.arriving(rig, from: caller, "")
            #expect(told.first == "X-Forwarded-For: unknown")
            #expect(told.last == "Forwarded: for=unknown;host=\"a\";proto=http")
        }
    }

    @Test func `a replayed request reports the caller once`() async throws {
        try await withRig(.route { $0.appendsForwarded = true }) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/x HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: b\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")
            let question = try await rig.credentials.questions.next("question for a pass")
            rig.install(.sample(2))
            question.answer(.success(.sample(2)))
            let head = try await upstream.head()
            #expect(head["Authorization"] == "Bearer token-2")
            #expect(head["X-Forwarded-For"] == "b, 127.0.0.1")
        }
    }
}
