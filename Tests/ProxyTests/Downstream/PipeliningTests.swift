import NIOCore
import Proxy
import Testing

@Suite struct PipeliningTests {
    @Test func `pipelined requests get their responses in order, from the upstream or from the gateway`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send(
                """
                GET /acme/1 HTTP/1.1\r
                Host: a\r
                \r
                GET /nowhere HTTP/1.1\r
                Host: a\r
                \r
                POST /acme/3 HTTP/1.1\r
                Host: a\r
                Content-Length: 3\r
                \r
                abcGET /acme/4 HTTP/1.1\r
                Host: a\r
                Connection: close\r
                \r
                GET /acme/ignored HTTP/1.1\r
                Host: a\r
                \r\n
                """
            )
            let upstream = try await rig.upstream.accept()
            for (request, body, answer) in [
                ("GET /v2/1", "", "one"), ("POST /v2/3", "abc", "three"), ("GET /v2/4", "", "four"),
            ] {
                let arrived = try await upstream.request()
                #expect(arrived.head.request == request)
                #expect(arrived.body == body)
                try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: \(answer.utf8.count)\r\n\r\n\(answer)")
            }
            #expect(try await caller.answer().body == "one")
            #expect(try await caller.answer().head.status == 404)
            #expect(try await caller.answer().body == "three")
            let last = try await caller.answer()
            #expect(last.body == "four")
            #expect(last.head["Connection"] == "close")
            #expect(try await caller.rest().bytes.readableBytes == 0)
            // The request after Connection: close did not reach the upstream.
            let next = try await rig.caller()
            try await next.send("GET /acme/next HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await upstream.head().request == "GET /v2/next")
        }
    }

    @Test func `many pipelined requests all get their responses`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            let count = 3_000
            async let sent: Void = caller.send(
                (1...count).map { "GET /nowhere/\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined()
            )
            for _ in 1...count { #expect(try await caller.answer().head.status == 404) }
            try await sent
        }
    }

    @Test func `a request may arrive one byte at a time`() async throws {
        // Sixty writes take a while on a loaded machine.
        try await withRig(Rig.Setup(callerTimeouts: CallerTimeouts(head: .seconds(600)))) { rig in
            let caller = try await rig.caller()
            for byte in "POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab" {
                try await caller.send(byte == "\r\n" ? "\r\n" : String(byte))
            }
            #expect(try await rig.upstream.accept().request().body == "ab")
        }
    }

    @Test func `a head may be as long as the limit, in whatever pieces it arrives`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            let line = "X-Long: \(String(repeating: "a", count: 8_000))\r\n"
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n")
            for _ in 1...4 {
                try await caller.send(line)
                try await rig.settle()
            }
            try await caller.send("\r\n")
            #expect(try await rig.upstream.accept().head().all("X-Long").count == 4)
        }
    }

    @Test func `a second request leaves after the first one has waited for its credential`() async throws {
        try await withRig(Rig.Setup(credential: nil)) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/1 HTTP/1.1\r\nHost: a\r\n\r\nGET /acme/2 HTTP/1.1\r\nHost: a\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            rig.install(.sample())
            question.answer(.success(.sample()))
            let upstream = try await rig.upstream.accept()
            for number in 1...2 {
                #expect(try await upstream.head().request == "GET /v2/\(number)")
                try await upstream.send("HTTP/1.1 204 No Content\r\n\r\n")
                #expect(try await caller.head().status == 204)
            }
        }
    }
}
