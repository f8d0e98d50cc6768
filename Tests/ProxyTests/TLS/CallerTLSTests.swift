import NIOCore
import NIOSSL
import Proxy
import Telemetry
import TestKit
import Testing

@Suite struct CallerTLSTests {
    private typealias Identity = (certificate: String, key: String)

    private static let client: Identity = (TestCertificates.client, TestCertificates.clientKey)
    /// A self-signed certificate that no authority vouches for.
    private static let stranger: Identity = (TestCertificates.selfSigned, TestCertificates.selfSignedKey)

    /// The setup of a gateway whose callers need TLS.
    private func setup(
        clientAuthorities: String? = nil,
        log: RecordingLog? = nil
    ) throws -> Rig.Setup {
        let files = try TLSFiles()
        var setup = Rig.Setup()
        setup.tls = try CallerTLS(files.pair("server"), clientAuthorities: clientAuthorities.map { files.path($0) })
        setup.log = log
        return setup
    }

    @Test func `requests on one connection and their bodies go upstream, and the responses come back`() async throws {
        try await withRig(self.setup()) { rig in
            let caller = try await rig.secureCaller(.caller())
            let body = String(repeating: "0123456789", count: 20_000)
            var upstream: Peer?
            for path in ["one", "two"] {
                async let sent: Void = caller.send("POST /acme/\(path) HTTP/1.1\r\nHost: a\r\n" + body.framed(true))
                if upstream == nil { upstream = try await rig.upstream.accept() }
                let peer = try #require(upstream)
                let request = try await peer.request()
                try await sent
                #expect(request.head.request == "POST /v2/\(path)")
                #expect(request.head["Authorization"] == "Bearer token-1")
                #expect(request.body == body)
                try await peer.send("HTTP/1.1 200 OK\r\n" + body.framed(false))
                #expect(try await caller.answer().body == body)
            }
        }
    }

    @Test func `the gateway sends close_notify, so that a response that ends with the connection is complete`()
        async throws
    {
        try await withRig(self.setup()) { rig in
            let caller = try await rig.secureCaller(.caller())
            try await caller.send("GET /acme/ HTTP/1.0\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
            let (head, body) = try await caller.answer()
            #expect(head.all("Content-Length").isEmpty)
            #expect(body == "hello")
        }
    }

    @Test(arguments: [("HTTP/1.0", Peer.Ending.reset), ("HTTP/1.1", .clean)])
    func `a truncated response does not end like a complete one`(version: String, ending: Peer.Ending) async throws {
        try await withRig(self.setup()) { rig in
            let caller = try await rig.secureCaller(.caller())
            try await caller.send("GET /acme/ \(version)\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
            _ = try await caller.head()
            try await upstream.reset()
            let rest = try await caller.rest()
            #expect(rest.ending == ending)
            // The missing last chunk shows the truncation.
            #expect(ending == .reset || String(buffer: rest.bytes) == "5\r\nhello\r\n")
        }
    }

    @Test func `a response that the gateway's shutdown cuts does not end like a complete one`() async throws {
        try await withRig(self.setup()) { rig in
            let caller = try await rig.secureCaller(.caller())
            try await caller.send("GET /acme/ HTTP/1.0\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
            _ = try await caller.head()
            #expect(await rig.server.shutDown(grace: .milliseconds(10)) == false)
            #expect(try await caller.rest().ending == .reset)
        }
    }

    @Test func `a slow reader gets all of a response after which the connection ends`() async throws {
        try await withRig(self.setup()) { rig in
            let caller = try await rig.secureCaller(.caller(), receiveBuffer: 8 << 10)
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            let body = String(repeating: "x", count: 1 << 20)
            async let sent: Void = upstream.send("HTTP/1.1 200 OK\r\n" + body.framed(false))
            let answer = try await caller.answer()
            try await sent
            #expect(answer.body == body)
            #expect(try await caller.ending() == .clean)
        }
    }

    @Test func `an idle connection ends cleanly when the gateway stops`() async throws {
        try await withRig(self.setup()) { rig in
            let caller = try await rig.secureCaller(.caller())
            try await caller.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await caller.answer().head.status == 404)
            async let drained = rig.server.shutDown(grace: patience)
            #expect(try await caller.ending() == .clean)
            caller.close()
            #expect(await drained)
        }
    }

    @Test(arguments: ["", "\u{16}\u{03}\u{01}\u{00}\u{64}\u{01}\u{00}\u{00}\u{60}\u{03}\u{03}"])
    func `an unfinished handshake is closed after its timeout, and a finished one is not`(begun: String) async throws {
        let log = RecordingLog()
        try await withRig(self.setup(log: log).frozen) { rig in
            let done = try await rig.secureCaller(.caller())
            try await done.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await done.answer()
            let half = try await rig.caller()
            if !begun.isEmpty { try await half.send(begun) }
            try await eventually("both to be there") { await rig.server.traffic().downstreamConnections == 2 }
            await rig.server.pass(.seconds(11))
            _ = try await half.ending()
            #expect(log.lines.filter { $0.contains("handshake_timeout") }.count == 1)
            try await done.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await done.answer().head.status == 404)
        }
    }

    @Test func `HTTP without TLS gets no response, and the log says why at the level debug`() async throws {
        let log = RecordingLog()
        try await withRig(self.setup(log: log)) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/canary HTTP/1.1\r\nHost: a\r\n\r\n")
            let bytes = try await caller.rest().bytes
            #expect(!bytes.readableBytesView.starts(with: "HTTP".utf8))
            try await eventually("a line of the log") { !log.lines.isEmpty }
            #expect(log.lines == ["debug a caller's TLS handshake failed error.code=handshake_plain_http"])
            #expect(rig.upstream.connections == 0)
        }
    }

    @Test func `versions below TLS 1,2 are refused`() async throws {
        let log = RecordingLog()
        try await withRig(self.setup(log: log)) { rig in
            let old = try await rig.secureCaller(
                .caller {
                    $0.minimumTLSVersion = .tlsv1
                    $0.maximumTLSVersion = .tlsv11
                }
            )
            #expect(try await old.rest().ending == .reset)
            try await eventually("a line of the log") { !log.lines.isEmpty }
            #expect(log.lines == ["debug a caller's TLS handshake failed error.code=handshake_failed"])
            let current = try await rig.secureCaller(.caller { $0.maximumTLSVersion = .tlsv12 })
            try await current.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await current.answer().head.status == 404)
        }
    }

    @Test(arguments: [TLSVersion.tlsv12, .tlsv13])
    func `if a certificate is asked for, callers with a trusted one or none are admitted, and others are not`(
        version: TLSVersion
    ) async throws {
        let log = RecordingLog()
        try await withRig(self.setup(clientAuthorities: "client-ca.pem", log: log)) { rig in
            for identity in [Self.client, nil] as [Identity?] {
                let caller = try await rig.secureCaller(.caller(showing: identity) { $0.maximumTLSVersion = version })
                try await caller.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(try await caller.answer().head.status == 404)
            }
            #expect(log.lines.isEmpty)
            let stranger = try await rig.secureCaller(
                .caller(showing: Self.stranger) { $0.maximumTLSVersion = version }
            )
            try? await stranger.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
            let (bytes, ending) = try await stranger.rest()
            #expect(bytes.readableBytes == 0)
            #expect(ending == .reset)
            try await eventually("a line of the log") { !log.lines.isEmpty }
            #expect(log.lines == ["debug a caller's TLS handshake failed error.code=handshake_untrusted_caller"])
        }
    }

    @Test func `the log distinguishes a caller that does not trust the listener`() async throws {
        let log = RecordingLog()
        try await withRig(self.setup(log: log)) { rig in
            let caller = try await rig.secureCaller(.caller(trusting: TestCertificates.authority))
            #expect(try await caller.rest().ending == .reset)
            try await eventually("a line of the log") { !log.lines.isEmpty }
            #expect(log.lines == ["debug a caller's TLS handshake failed error.code=handshake_refused"])
        }
    }

    @Test func `the log distinguishes a caller that leaves during the handshake`() async throws {
        let log = RecordingLog()
        try await withRig(self.setup(log: log)) { rig in
            let caller = try await rig.caller()
            try await caller.send("\u{16}\u{03}\u{01}\u{00}\u{64}\u{01}")
            try await caller.finish()
            try await eventually("a line of the log") { !log.lines.isEmpty }
            #expect(log.lines == ["debug a caller's TLS handshake failed error.code=handshake_abandoned"])
        }
    }
}
