import NIOCore
import Proxy
import Telemetry
import TestKit
import Testing

/// Callers that close their side of the connection after their requests.
@Suite struct HalfClosingTests {
    private static let get = "GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test(arguments: [false, true])
    func `a caller that has half-closed still gets its response, and then the connection ends`(isSecured: Bool)
        async throws
    {
        let files = try TLSFiles()
        var setup = Rig.Setup()
        if isSecured { setup.tls = try CallerTLS(files.pair("server")) }
        try await withRig(setup) { rig in
            let caller = isSecured ? try await rig.secureCaller(.caller()) : try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")
            try await caller.finish()
            let upstream = try await rig.upstream.accept()
            #expect(try await upstream.request().body == "hello")
            for _ in 1...3 { try await rig.settle() }
            try await upstream.send(Self.ok)
            #expect(try await caller.answer().body == "ok")
            #expect(try await caller.ending() == .clean)
        }
    }

    @Test func `a half-closed caller gets a response that waits for a token, and all responses of a pipeline`()
        async throws
    {
        try await withRig(Rig.Setup(credential: nil)) { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.get + Self.get)
            try await caller.finish()
            let question = try await rig.credentials.questions.next("question")
            rig.install(.sample())
            question.answer(.success(.sample()))
            let upstream = try await rig.upstream.accept()
            for _ in 1...2 {
                _ = try await upstream.head()
                try await upstream.send(Self.ok)
                #expect(try await caller.answer().body == "ok")
            }
            #expect(try await caller.ending() == .clean)
        }
    }

    @Test(arguments: [
        "GET /acme/ HTTP/1.1\r\nHo", "POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello", "",
    ])
    func `a caller that half-closes before its request is complete is disconnected`(request: String) async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send(request)
            if request.hasPrefix("POST") {
                let upstream = try await rig.upstream.accept()
                _ = try await upstream.head()
                try await caller.finish()
                // Not one byte more arrives, above all no end of the body.
                #expect(String(buffer: try await upstream.rest().bytes) == "hello")
            } else {
                try await caller.finish()
            }
            let (rest, ending) = try await caller.rest()
            #expect(rest.readableBytes == 0)
            #expect(ending == .clean)
            try await eventually("the connection's end") { await rig.server.traffic().downstreamConnections == 0 }
        }
    }

    @Test func `a half-closed caller whose upload was stopped gets the rest of its response`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 413 No\r\nConnection: close\r\nContent-Length: 4\r\n\r\nmu")
            #expect(try await caller.head().status == 413)
            try await caller.finish()
            try await rig.settle()
            try await upstream.send("ch")
            #expect(String(buffer: try await caller.rest().bytes) == "much")
        }
    }

    @Test(arguments: [false, true])
    func `a caller that breaks off its upload loses nothing of a complete response`(isMalformed: Bool) async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            _ = try await upstream.bytes(10)
            let body = String(repeating: "a", count: 20_000)
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n\(body)")
            for _ in 1...3 { try await rig.settle() }
            // Before the caller has read anything
            if isMalformed { try await caller.send("nonsense\r\n") } else { try await caller.finish() }
            let answer = try await caller.answer()
            #expect(answer.body == body)
            #expect(try await caller.ending() == .clean)
            // Not one byte more arrives, above all no last chunk.
            #expect(try await upstream.rest().bytes.readableBytes == 0)
        }
    }

    @Test func `the gateway notices that a caller has disconnected when it writes to the caller`() async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            #expect(try await caller.head().status == 200)
            caller.close()
            // The upstream sends events that nobody reads.
            try await eventually("the connection's end") {
                try? await upstream.send("5\r\nevent\r\n")
                return await rig.server.traffic().downstreamConnections == 0
            }
        }
    }
}
