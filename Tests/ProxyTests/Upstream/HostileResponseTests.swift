import HTTPWire
import NIOCore
import Proxy
import Telemetry
import TestKit
import Testing
import TokenModel

/// Responses of a hostile or broken upstream, and what must come of them.
@Suite struct HostileResponseTests {
    private static let get = "GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// Responses that become a 502 before any byte goes to the caller, by what is wrong with them.
    static let refused: [(what: String, rule: String, answer: String)] = [
        (
            "both framings", "two_framings",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok"
        ),
        (
            "both framings, turned round", "two_framings",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\nok"
        ),
        (
            "two lengths", "content_lengths_differ",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok"
        ),
        ("a list of lengths", "content_lengths_differ", "HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok"),
        ("a length with a sign", "content_length", "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok"),
        ("a length below nothing", "content_length", "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok"),
        (
            "a length of twenty digits", "content_length",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nok"
        ),
        ("obs-fold", "folded_field", "HTTP/1.1 200 OK\r\nX-Own: 1\r\n folded\r\nContent-Length: 2\r\n\r\nok"),
        ("an indented first field", "folded_field", "HTTP/1.1 200 OK\r\n Content-Length: 2\r\n\r\nok"),
        ("bare LF behind the status line", "bare_lf", "HTTP/1.1 200 OK\nContent-Length: 2\r\n\r\nok"),
        ("bare LF behind a field", "bare_lf", "HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\nok"),
        ("bare LF for the empty line", "bare_lf", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\nok"),
        ("gzip as a transfer coding", "transfer_encoding_end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok"),
        (
            "gzip below chunked", "transfer_encoding",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"
        ),
        (
            "chunked in HTTP/1.0", "transfer_encoding_in_http_1_0",
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        (
            "101 nobody asked for", "upgrade_not_asked",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"
        ),
        (
            "a head of a mebibyte", "head_too_large",
            "HTTP/1.1 200 OK\r\nX-Own: \(String(repeating: "a", count: 1 << 20))\r\n\r\n"
        ),
        (
            "a head over 64 KiB", "head_too_large",
            "HTTP/1.1 200 OK\r\n\(String(repeating: "X-Own: \(Self.line)\r\n", count: 66))\r\n"
        ),
        ("201 fields", "too_many_fields", "HTTP/1.1 200 OK\r\n\(String(repeating: "X: 1\r\n", count: 201))\r\n"),
        ("CR in the status line", "status_line_control", "HTTP/1.1 200 O\rK\r\nContent-Length: 2\r\n\r\nok"),
        ("NUL in the status line", "status_line_control", "HTTP/1.1 200 O\0K\r\nContent-Length: 2\r\n\r\nok"),
        ("CR in a field", "field_value", "HTTP/1.1 200 OK\r\nX-Own: a\rb\r\nContent-Length: 2\r\n\r\nok"),
        ("NUL in a field", "field_value", "HTTP/1.1 200 OK\r\nX-Own: a\0b\r\nContent-Length: 2\r\n\r\nok"),
        ("CR CR LF", "doubled_cr", "HTTP/1.1 200 OK\r\nX-Own: a\r\r\nContent-Length: 2\r\n\r\nok"),
        ("a space before the colon", "field_name", "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok"),
        ("no colon", "field_name", "HTTP/1.1 200 OK\r\nContent-Length 2\r\n\r\nok"),
        ("no HTTP at all", "not_http", "SSH-2.0-OpenSSH_9.2\r\n\r\n"),
        ("HTTP/2", "http_version", "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        ("a status below 100", "status_code", "HTTP/1.1 099 No\r\nContent-Length: 2\r\n\r\nok"),
        ("a status of two digits", "status_code", "HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\nok"),
        (
            "a Connection that takes the length away", "connection_names_protected",
            "HTTP/1.1 200 OK\r\nConnection: content-length\r\nContent-Length: 2\r\n\r\nok"
        ),
    ]
    private static let line = String(repeating: "a", count: 1_000)

    @Test(arguments: refused)
    func `F23 a response that is not HTTP becomes a 502, and its connection is closed`(
        row: (what: String, rule: String, answer: String)
    ) async throws {
        let output = try CapturedOutput()
        let log = LogWriter(to: LogOutput(descriptor: output.descriptor), format: .text) {
            LogClock(now: WallTime(millisecondsSince1970: 0), bootNow: .now)
        }
        var setup = Rig.Setup()
        setup.accessLog = log
        let port = try await withRig(setup) { rig in
            let (caller, upstream) = try await rig.begun(Self.get)
            // The gateway may close the connection before it has read the whole response.
            let sending = Task { try await upstream.send(row.answer) }
            let answer = try await caller.answer()
            #expect(answer.head.status == 502)
            #expect(answer.body.contains("urn:martlet:error:upstream_invalid"))
            // The error names the broken rule, and nothing that the upstream sent.
            #expect(answer.body.contains("\"detail\":\"\(row.rule): "))
            #expect(!answer.body.contains("X-Own") && !answer.body.contains("SSH") && !answer.body.contains("aaaa"))
            _ = try await upstream.rest()
            _ = await sending.result
            // The caller's connection still works.
            try await caller.send(Self.get)
            let next = try await rig.upstream.accept()
            _ = try await next.head()
            try await next.send(Self.ok)
            #expect(try await caller.answer().body == "ok")
            return rig.upstream.port
        }
        #expect(await log.close(within: patience))
        let line = try #require(output.lines.first)
        #expect(line.contains(" route.name=acme "))
        let origin = "http://127.0.0.1:\(port)"
        #expect(
            line.hasSuffix(" error.code=upstream_invalid error.reason=\(row.rule) upstream.origin=\(origin)"),
            "\(line)"
        )
        #expect(output.lines.last?.contains("upstream.origin") == false)
    }

    @Test func `the table has each rule that a head can break, except those that no head can reach`() {
        let unreachable: Set<WireRule> = [
            .fieldTooLarge, .chunkSize, .chunkSizeTooLong, .chunkExtension, .chunkExtensionsTooLarge, .chunkEnd,
            .trailersTooLarge,
        ]
        let here = Set(Self.refused.map(\.rule))
        let elsewhere: Set<WireRule> = [
            .connectionOption, .tooManyConnectionOptions, .transferEncodingTwice, .transferEncodingBytes,
            .tooManyInterimAnswers,
        ]
        let all = Set(WireRule.allCases).subtracting(unreachable).subtracting(elsewhere)
        #expect(here == Set(all.map(\.rawValue)))
    }

    @Test(arguments: [
        "Content-Length: 2\r\nContent-Length: 2\r\n", "Content-Length: 2, 2\r\n",
        "Content-Length: 02,2\r\nContent-Length: 2\r\n",
    ])
    func `a repeated length counts once, and the connection is reused`(fields: String) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun(Self.get)
            try await upstream.send("HTTP/1.1 200 OK\r\n\(fields)\r\nok")
            let answer = try await caller.answer()
            #expect(answer.head.all("Content-Length") == ["2"])
            #expect(answer.body == "ok")
            try await caller.send(Self.get)
            _ = try await upstream.head()
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test(arguments: [600, 666, 799, 999])
    func `an undefined final status is passed on as it is`(status: Int) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun(Self.get)
            try await upstream.send("HTTP/1.1 \(status) So be it\r\nContent-Length: 2\r\n\r\nok")
            let answer = try await caller.answer()
            #expect(answer.head.startLine == "HTTP/1.1 \(status) So be it")
            #expect(answer.body == "ok")
            try await caller.send(Self.get)
            _ = try await upstream.head()
            // A response to HEAD has no body with such a status either.
            try await upstream.send(Self.ok)
            _ = try await caller.answer()
            try await caller.send("HEAD /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await upstream.head()
            try await upstream.send("HTTP/1.1 \(status) So be it\r\nContent-Length: 2\r\n\r\n")
            #expect(try await caller.head().status == status)
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test(arguments: [
        ("x\r\n", "chunk_size"), ("2\r\nokay\r\n", "chunk_end"), ("2;\r\nok\r\n", "chunk_extension"),
        ("2;\(line)\(line)\r\nok\r\n", "chunk_extensions_too_large"), ("2\r\nok\r\n0\r\nX\r\n\r\n", "field_name"),
        ("fffffffffffffffff\r\n", "chunk_size_too_long"),
    ])
    func `the log entry says why a response in progress was cut`(chunks: String, rule: String) async throws {
        let output = try CapturedOutput()
        let log = LogWriter(to: LogOutput(descriptor: output.descriptor), format: .text) {
            LogClock(now: WallTime(millisecondsSince1970: 0), bootNow: .now)
        }
        var setup = Rig.Setup()
        setup.accessLog = log
        let port = try await withRig(setup) { rig in
            let (caller, upstream) = try await rig.begun(Self.get)
            try await upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            #expect(try await caller.head().status == 200)
            try await upstream.send(chunks)
            _ = try await caller.rest()
            return rig.upstream.port
        }
        #expect(await log.close(within: patience))
        let line = try #require(output.lines.first)
        #expect(line.contains(" http.status=200 "))
        let reason =
            "error.code=upstream_invalid error.reason=\(rule) upstream.origin=http://127.0.0.1:\(port) aborted=true"
        #expect(line.hasSuffix(reason), "\(line)")
    }

    @Test(arguments: [("GET", false), ("POST", true)])
    func `F23 a flood of interim responses becomes a 502 after the twentieth`(method: String, hasBody: Bool)
        async throws
    {
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
    func `F23 a malformed chunk ends both connections, and the caller gets no last chunk`(chunks: String) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun(Self.get)
            try await upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            #expect(try await caller.head().status == 200)
            try await upstream.send(chunks)
            let (bytes, _) = try await caller.rest()
            // No byte says that the response is complete.
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
    func `F23 bytes after a complete response, or a second response, reach nobody`(answer: String) async throws {
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
        arguments: [
            ("Content-Length: 10\r\n\r\nhello", "hello"),
            ("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "5\r\nhello\r\n"),
        ],
        [true, false]
    )
    func `F23 a truncated response is passed on as far as it came, without an end`(
        response: (rest: String, arrives: String),
        resets: Bool
    ) async throws {
        try await withRig { rig in
            let (caller, upstream) = try await rig.begun(Self.get)
            try await upstream.send("HTTP/1.1 200 OK\r\n\(response.rest)")
            #expect(try await caller.head().status == 200)
            if resets { try await upstream.reset() } else { upstream.close() }
            let (bytes, ending) = try await caller.rest()
            #expect(String(buffer: bytes) == response.arrives)
            #expect(ending == .clean)
        }
    }

    @Test(arguments: ["", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"], [true, false])
    func `F23 a connection that ends before the head is complete becomes a 502, and the caller's stays open`(
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

    @Test func `I11_F23 an upstream that always sends 401 causes two attempts and one question for each request`()
        async throws
    {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.get)
            let upstream = try await rig.upstream.accept()
            for generation: UInt64 in 1...3 {
                _ = try await upstream.head()
                try await upstream.send("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")
                let question = try await rig.credentials.questions.next("question")
                #expect(question.refused == TokenVersion(.sample(generation)))
                rig.install(.sample(generation + 1))
                question.answer(.success(.sample(generation + 1)))
                #expect(try await upstream.head()["Authorization"] == "Bearer token-\(generation + 1)")
                try await upstream.send("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")
                #expect(try await caller.answer().head["Martlet-Replayed"] == "1")
                try await caller.send(Self.get)
            }
            #expect(rig.credentials.questions.total == 3)
        }
    }
}
