import NIOCore
import Proxy
import TestKit
import Testing

/// Responses that begin before their request has ended. Both streams run at once.
@Suite struct DuplexTests {
    /// How both sides of a conversation are framed, and whether it is encrypted.
    struct Conversation: Sendable, CustomTestStringConvertible {
        let isRequestChunked: Bool
        let isResponseChunked: Bool
        let isSecured: Bool

        static let all = [false, true].flatMap { isSecured in
            [(true, true), (false, false), (true, false), (false, true)].map { request, response in
                Conversation(isRequestChunked: request, isResponseChunked: response, isSecured: isSecured)
            }
        }

        var testDescription: String {
            "request \(self.isRequestChunked ? "in chunks" : "by length"), "
                + "response \(self.isResponseChunked ? "in chunks" : "by length"), \(self.isSecured ? "TLS" : "plain")"
        }
    }

    private static let rounds = 200
    private static let word = "0123456789abcdef"

    private static func framing(_ isChunked: Bool) -> String {
        isChunked ? "Transfer-Encoding: chunked\r\n" : "Content-Length: \(Self.rounds * Self.word.utf8.count)\r\n"
    }

    private static func framed(_ isChunked: Bool) -> String { isChunked ? "10\r\n\(Self.word)\r\n" : Self.word }

    private func setup(_ isSecured: Bool) throws -> (Rig.Setup, TLSFiles?) {
        guard isSecured else { return (Rig.Setup(), nil) }
        let files = try TLSFiles()
        try files.write(TestCertificates.selfSigned, to: "roots.pem")
        let tls = try UpstreamTLS(UpstreamTLS.Files(certificateAuthorities: files.path("roots.pem")))
        var setup = Rig.Setup.route { $0.upstream.tls = tls }
        setup.speaksTLS = true
        setup.tls = try CallerTLS(files.pair("server"))
        return (setup, files)
    }

    @Test(arguments: Conversation.all)
    func `a conversation in which each piece waits for the response to the one before it runs to its end`(
        conversation: Conversation
    ) async throws {
        let (setup, files) = try self.setup(conversation.isSecured)
        try await withRig(setup) { rig in
            // Given a request that has begun, and a response that has begun too
            let caller = conversation.isSecured ? try await rig.secureCaller(.caller()) : try await rig.caller()
            try await caller.send(
                "POST /acme/ HTTP/1.1\r\nHost: a\r\n\(Self.framing(conversation.isRequestChunked))\r\n"
            )
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 200 OK\r\n\(Self.framing(conversation.isResponseChunked))\r\n")
            #expect(try await caller.head().status == 200)
            // When each word waits for the response to the one before it
            let request = Self.framed(conversation.isRequestChunked)
            let response = Self.framed(conversation.isResponseChunked)
            for round in 1...Self.rounds {
                try await caller.send(request)
                let heard = String(buffer: try await upstream.bytes(request.utf8.count))
                try await upstream.send(response)
                let answer = String(buffer: try await caller.bytes(response.utf8.count))
                guard heard == request, answer == response else {
                    Issue.record("round \(round): \(heard), \(answer)")
                    return
                }
            }
            if conversation.isRequestChunked {
                try await caller.send("0\r\n\r\n")
                #expect(String(buffer: try await upstream.bytes(5)) == "0\r\n\r\n")
            }
            if conversation.isResponseChunked {
                try await upstream.send("0\r\n\r\n")
                #expect(String(buffer: try await caller.bytes(5)) == "0\r\n\r\n")
            }
            // Then both connections serve the next request
            try await caller.send("GET /acme/next HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await upstream.head().request == "GET /v2/next")
        }
        withExtendedLifetime(files) {}
    }

    @Test(arguments: [false, true])
    func `a response that is complete before its request waits for the request, and both connections stay open`(
        isChunked: Bool
    ) async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            let body = "helloworld".framed(isChunked)
            let end = try #require(body.firstRange(of: "hello")).upperBound
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\n\(body[..<end])")
            let upstream = try await rig.upstream.accept()
            let head = try await upstream.head()
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            let answer = try await caller.answer()
            #expect(answer.body == "ok")
            #expect(answer.head.all("Connection").isEmpty)
            try await rig.settle()
            try await caller.send(String(body[end...]))
            #expect(String(buffer: try await upstream.body(of: head)) == "helloworld")
            try await caller.send("GET /acme/next HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await upstream.head().request == "GET /v2/next")
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test(arguments: ["Connection: close\r\nContent-Length: 2\r\n", "Connection: close\r\n"])
    func `an upload stops when an error response says that the connection ends`(framing: String) async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            #expect(String(buffer: try await upstream.bytes(10)) == "5\r\nhello\r\n")
            try await upstream.send("HTTP/1.1 413 Too Large\r\n\(framing)\r\n")
            #expect(try await caller.head()["Connection"] == "close")
            // The caller sends during the response and after it.
            for _ in 1...8 { try await caller.send("5\r\nworld\r\n") }
            try await upstream.send("no")
            if !framing.contains("Length") { try await upstream.finish() }
            let (rest, ending) = try await caller.rest()
            #expect(String(buffer: rest).contains("no"))
            #expect(ending == .clean)
            #expect(try await upstream.rest().bytes.readableBytes == 0)
        }
    }

    @Test func `an upload stops when the upstream ends the connection after its response`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\nhello")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try await caller.answer().body == "ok")
            try await upstream.reset()
            // The gateway reads on, and the caller's connection ends cleanly.
            #expect(try await caller.ending() == .clean)
            for _ in 1...8 { try await caller.send(ByteBuffer(repeating: 0x61, count: 60_000)) }
        }
    }

    @Test func `bytes after a complete response end the upload, and are not passed on`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try await caller.answer().body == "ok")
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong")
            let (rest, ending) = try await caller.rest()
            #expect(rest.readableBytes == 0)
            #expect(ending == .clean)
            _ = try await upstream.rest()
        }
    }

    @Test func `a conversation may be as slow as the idle timeout, and no slower`() async throws {
        var setup = Rig.Setup.route { $0.timeouts.idle = .seconds(4) }.frozen
        setup.callerTimeouts = CallerTimeouts(bodyGrace: .seconds(1))
        try await withRig(setup) { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            #expect(try await caller.head().status == 200)
            for _ in 1...4 {
                try await rig.pass(.seconds(3))
                try await caller.send("a")
                #expect(try await upstream.bytes(1).readableBytes == 1)
            }
            try await rig.pass(.seconds(5))
            let (rest, ending) = try await caller.rest()
            #expect(rest.readableBytes == 0)
            #expect(ending == .clean)
            _ = try await upstream.ending()
        }
    }
}
