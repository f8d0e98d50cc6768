import NIOCore
import Proxy
import Testing
import TokenModel

/// What a hostile or broken upstream may send, and what must come of it.
@Suite struct HostileAnswerTests {
    private static let get = "GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// Answers that are told by 502 before a byte of them goes to the caller, by what is wrong with them.
    static let refused: [(what: String, answer: String)] = [
        ("both framings", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok"),
        ("both framings, turned round", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\nok"),
        ("two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok"),
        ("one length twice", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok"),
        ("a list of lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok"),
        ("a length with a sign", "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok"),
        ("a length below nothing", "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok"),
        ("a length of twenty digits", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nok"),
        ("obs-fold", "HTTP/1.1 200 OK\r\nX-Own: 1\r\n folded\r\nContent-Length: 2\r\n\r\nok"),
        ("an indented first field", "HTTP/1.1 200 OK\r\n Content-Length: 2\r\n\r\nok"),
        ("bare LF behind the status line", "HTTP/1.1 200 OK\nContent-Length: 2\r\n\r\nok"),
        ("bare LF behind a field", "HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\nok"),
        ("bare LF for the empty line", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\nok"),
        ("gzip as a transfer coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok"),
        ("gzip below chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        ("chunked in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ("101 nobody asked for", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"),
        ("a head of a mebibyte", "HTTP/1.1 200 OK\r\nX-Own: \(String(repeating: "a", count: 1 << 20))\r\n\r\n"),
        ("a head over 64 KiB", "HTTP/1.1 200 OK\r\n\(String(repeating: "X-Own: \(Self.line)\r\n", count: 66))\r\n"),
        ("201 fields", "HTTP/1.1 200 OK\r\n\(String(repeating: "X: 1\r\n", count: 201))\r\n"),
        ("CR in the status line", "HTTP/1.1 200 O\rK\r\nContent-Length: 2\r\n\r\nok"),
        ("NUL in the status line", "HTTP/1.1 200 O\0K\r\nContent-Length: 2\r\n\r\nok"),
        ("CR in a field", "HTTP/1.1 200 OK\r\nX-Own: a\rb\r\nContent-Length: 2\r\n\r\nok"),
        ("NUL in a field", "HTTP/1.1 200 OK\r\nX-Own: a\0b\r\nContent-Length: 2\r\n\r\nok"),
        ("CR CR LF", "HTTP/1.1 200 OK\r\nX-Own: a\r\r\nContent-Length: 2\r\n\r\nok"),
        ("a space before the colon", "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok"),
        ("no colon", "HTTP/1.1 200 OK\r\nContent-Length 2\r\n\r\nok"),
        ("no HTTP at all", "SSH-2.0-OpenSSH_9.2\r\n\r\n"),
        ("HTTP/2", "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        ("a status below 100", "HTTP/1.1 099 No\r\nContent-Length: 2\r\n\r\nok"),
        ("a status of two digits", "HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\nok"),
        (
            "a Connection that takes the length away",
            "HTTP/1.1 200 OK\r\nConnection: content-length\r\nContent-Length: 2\r\n\r\nok"
        ),
    ]
    private static let line = String(repeating: "a", count: 1_000)

    @Test(arguments: refused)
    func `F23 what is not HTTP is 502, and its connection is thrown away`(
        row: (what: String, answer: String)
    ) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun(Self.get)
            // The gateway may be gone before it has all of it.
            let sending = Task { try await upstream.send(row.answer) }
            let answer = try await caller.answer()
            #expect(answer.head.status == 502)
            #expect(answer.body.contains("urn:martlet:error:upstream_invalid"))
            _ = try await upstream.rest()
            _ = await sending.result
            // The caller's connection is none the worse.
            try await caller.send(Self.get)
            let next = try await rig.upstream.accept()
            _ = try await next.head()
            try await next.send(Self.ok)
            #expect(try await caller.answer().body == "ok")
        }
    }

    @Test(arguments: [("GET", false), ("POST", true)])
    func `F23 a flood of interim answers is 502 after the twentieth`(method: String, hasBody: Bool) async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("\(method) /acme/ HTTP/1.1\r\nHost: a\r\n\(hasBody ? "hi".framed(false) : "\r\n")")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.request()
            let sending = Task {
                try await upstream.send(String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 100_000))
            }
            #expect(try await caller.answer().head.status == 502)
            _ = try await upstream.rest()
            _ = await sending.result
        }
    }

    @Test(arguments: [
        "x\r\nok\r\n0\r\n\r\n", "-2\r\nok\r\n0\r\n\r\n", "0x2\r\nok\r\n0\r\n\r\n", "2\nok\r\n0\r\n\r\n",
        "2\r\nokay\r\n0\r\n\r\n",
        "2\r\nok\n0\r\n\r\n", "2 \r\nok\r\n0\r\n\r\n", "fffffffffffffffff\r\nok", "2\r\nok\r\n0\r\nX: a\rb\r\n\r\n",
        "2\r\nok\r\n0\r\n folded\r\n\r\n",
    ])
    func `F23 a bad chunk costs both connections, the caller's by a reset`(chunks: String) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun(Self.get)
            try await upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            #expect(try await caller.head().status == 200)
            try await upstream.send(chunks)
            let (bytes, ending) = try await caller.rest()
            #expect(ending == .reset)
            // Not a byte that says that this was all.
            #expect(!String(buffer: bytes).contains("0\r\n\r\n"))
            _ = try await upstream.rest()
        }
    }

    @Test(arguments: [
        ok + "!", ok + ok, "HTTP/1.1 204 No Content\r\n\r\nbody",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nbody",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nmore",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n",
    ])
    func `F23 a body past its length, or a second answer, goes to nobody`(answer: String) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun(Self.get)
            try await upstream.send(answer)
            let first = try await caller.head()
            if first.status == 200 { #expect(["ok", ""].contains(String(buffer: try await caller.body(of: first)))) }
            _ = try await upstream.ending()
            try await caller.send(Self.get)
            let next = try await rig.upstream.accept()
            _ = try await next.head()
            try await next.send("HTTP/1.1 200 Next\r\nContent-Length: 0\r\n\r\n")
            #expect(try await caller.head().startLine == "HTTP/1.1 200 Next")
        }
    }

    @Test(
        arguments: ["Content-Length: 10\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"],
        [true, false]
    )
    func `F23 an end before the length is reached is never a clean one for the caller`(
        rest: String,
        resets: Bool
    ) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun(Self.get)
            try await upstream.send("HTTP/1.1 200 OK\r\n\(rest)")
            #expect(try await caller.head().status == 200)
            if resets { try await upstream.reset() } else { upstream.close() }
            #expect(try await caller.rest().ending == .reset)
        }
    }

    @Test(arguments: ["", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"], [true, false])
    func `F23 an end before the head is whole is 502, and the caller's connection goes on`(
        beginning: String,
        resets: Bool
    ) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun(Self.get)
            if !beginning.isEmpty { try await upstream.send(beginning) }
            if resets { try await upstream.reset() } else { upstream.close() }
            let answer = try await caller.answer()
            #expect(answer.head.status == 502)
            #expect(answer.body.contains("urn:martlet:error:upstream_reset"))
            #expect(rig.upstream.connections == 1)
            try await caller.send(Self.get)
            _ = try await rig.upstream.accept().head()
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 413 Too Large\r\nConnection: close\r\n\r\nok",
        "HTTP/1.1 400 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ])
    func `an answer before the request's end is passed, and both connections end`(answer: String) async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            #expect(try await upstream.line() == "5")
            try await upstream.send(answer)
            if answer.contains("close") { try await upstream.finish() }
            let passed = try await caller.answer()
            #expect(passed.head["Connection"] == "close")
            #expect(passed.body == "ok")
            #expect(try await caller.ending() == .clean)
            try? await caller.send("5\r\nworld\r\n0\r\n\r\n")
            #expect(String(buffer: try await upstream.rest().bytes) == "hello\r\n")
        }
    }

    @Test func `I11_F23 an upstream that always says 401 gets two requests for each, and one question a generation`()
        async throws
    {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.get)
            let upstream = try await rig.upstream.accept()
            for generation: UInt64 in 1...3 {
                _ = try await upstream.head()
                try await upstream.send("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")
                let question = try await rig.passes.questions.next("question")
                #expect(question.refused == TokenMark(.sample(generation)))
                rig.install(.sample(generation + 1))
                question.answer(.success(.sample(generation + 1)))
                #expect(try await upstream.head()["Authorization"] == "Bearer token-\(generation + 1)")
                try await upstream.send("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")
                #expect(try await caller.answer().head["Martlet-Replayed"] == "1")
                try await caller.send(Self.get)
            }
            #expect(rig.passes.questions.total == 3)
        }
    }
}
