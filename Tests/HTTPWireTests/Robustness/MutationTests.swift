import HTTPWire
import NIOCore
import Testing

/// Thousands of mutated inputs; `scripts/fuzz` tries millions. A bounds fault would end the process.
///
/// The tests don't check which inputs are refused. They check that every input gets a result, that the result is the
/// same however the input arrives, and that llhttp reads accepted input as we do.
@Suite struct MutationTests {
    /// Each seed is its own test case. A failure names the seed, and the same seed makes the same mutations.
    static let seeds: [UInt64] = [1, 2, 3, 4]

    static let words = [
        "\r\n", "\n", "\r", "\r\n\r\n", "\0", " ", "\t", ":", ",", ";", "=", "\"", "\\", "%", "%2e", "%2F", "/../",
        "//", "?", "#", "*", "\u{7F}", "\u{80}", "\u{FF}",
        "GET ", "POST ", "HEAD ", "http://", " HTTP/1.1\r\n", " HTTP/1.0\r\n", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 304 ",
        "HTTP/1.1 100 ", "Host: a\r\n", "\r\nHost: a\r\n",
        "Content-Length: 3\r\n", "Content-Length: 0\r\n", "\r\nContent-Length: 5\r\n",
        "\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: ",
        "\r\nConnection: close\r\n", "Connection: x, y\r\n", "X: y\r\n", "WWW-Authenticate: ", "Bearer ",
        "error=\"invalid_token\"", "Basic realm=\"x\", ", "0\r\n\r\n", "0\r\n",
        "5\r\nhello\r\n", "1;a=b\r\n", "ffffffffffffffff\r\n", "[::1]:80", "a:99999",
    ]

    /// Valid requests count nine times: a mutated request with two faults tests neither of them.
    private static let requests =
        Array(repeating: AcceptedRequest.all.map(\.bytes), count: 9).joined() + RefusedRequest.all.map(\.bytes)
    private static let answers = AcceptedResponse.all.map(\.bytes) + RefusedResponse.all.map(\.bytes)
    private static let bodies = (ChunkedBody.accepted + ChunkedBody.refused).map(\.bytes).filter { $0.count < 3000 }

    @Test(arguments: seeds)
    func `mutated requests read the same in any pieces, and llhttp agrees`(seed: UInt64) throws {
        var mutator = Mutator(seed: seed, corpus: Self.requests, words: Self.words)
        var accepted = 0
        for round in 0..<500 {
            let message = round % 4 == 0 ? mutator.noise() : mutator.next()
            let pieces = mutator.pieces(of: message)
            let whole = readRequest([message[...]])
            try #require(
                readRequest(pieces) == whole,
                "seed \(seed), round \(round): \(text(message).debugDescription)"
            )
            guard whole.summary != nil, let (head, _) = try parseRequest([message[...]]) else { continue }
            accepted += 1
            try self.judge(head, "seed \(seed), round \(round)")
        }
        // With fewer accepted requests, the test would check nothing.
        #expect(accepted > 15)
    }

    /// Checks what holds for every accepted request.
    private func judge(_ head: RequestHead, _ comment: Comment) throws {
        let summary = RequestSummary(head, rest: ByteBuffer())
        let target = summary.path + summary.query
        try #require(bytes(target).allSatisfy { $0 > 0x20 && $0 != 0x7F }, comment)
        try #require(summary.isAsterisk || summary.authority != nil || summary.path.hasPrefix("/"), comment)
        try #require(summary.host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x40 && $0 != 0x2C }, comment)
        try #require(
            summary.passing.allSatisfy { !$0.contains("\r") && !$0.contains("\n") && !$0.contains("\0") },
            comment
        )
        try expectSameReading(of: head)
        try expectOneRequest(leaving: head, OutgoingBody.all[summary.fields.count % 5], injecting: "Authorization")
    }

    @Test(arguments: seeds)
    func `mutated responses read the same in any pieces, and llhttp agrees`(seed: UInt64) throws {
        var mutator = Mutator(seed: seed, corpus: Self.answers, words: Self.words)
        var accepted = 0
        for round in 0..<500 {
            let message = round % 4 == 0 ? mutator.noise() : mutator.next()
            let pieces = mutator.pieces(of: message)
            let method = round % 3 == 0 ? HTTPMethod.head : .get
            let whole = readAnswer([message[...]], answering: method)
            try #require(
                readAnswer(pieces, answering: method) == whole,
                "seed \(seed), round \(round): \(text(message).debugDescription)"
            )
            guard whole.summary != nil, let (head, _) = try parseAnswer([message[...]], answering: method) else {
                continue
            }
            accepted += 1
            // llhttp accepts only one Content-Length. Our parser also accepts the same length repeated.
            let lengths = whole.summary?.fields.filter { $0.lowercased().hasPrefix("content-length:") } ?? []
            guard lengths.count < 2, !lengths.contains(where: { $0.contains(",") }) else { continue }
            try expectSameReading(of: head, answering: method)
        }
        #expect(accepted > 15)
    }

    @Test(arguments: seeds)
    func `mutated chunked bodies read the same in any pieces, and llhttp agrees`(seed: UInt64) throws {
        var mutator = Mutator(seed: seed, corpus: Self.bodies, words: Self.words)
        var accepted = 0
        for round in 0..<500 {
            let message = round % 4 == 0 ? mutator.noise() : mutator.next()
            let pieces = mutator.pieces(of: message)
            let whole = readBody([message[...]], framed: .chunked)
            var comment: Comment { "seed \(seed), round \(round): \(text(message).debugDescription)" }
            try #require(readBody(pieces, framed: .chunked) == whole, comment)
            guard whole.end == .clean else { continue }
            accepted += 1
            // llhttp interprets chunk extensions and framing fields in trailers. Our decoder drops both.
            let framing = ["content-length", "transfer-encoding", "connection", "upgrade"]
            let names = whole.trailers.map { $0.prefix { $0 != ":" }.lowercased() }
            guard !message.contains(0x3B), !framing.contains(where: names.contains) else { continue }
            let wire =
                head(["POST / HTTP/1.1", "Transfer-Encoding: chunked"])
                + message.dropLast(whole.rest.unicodeScalars.count)
            let read = try RequestOracle.read(wire)
            try #require(read.count == 1 && read[0].isWhole, comment)
            try #require(text(read[0].body) == whole.content, comment)
            try #require(read[0].trailers.map(trimmed) == whole.trailers.map { trimmed(asRead($0)) }, comment)
        }
        #expect(accepted > 15)
    }

    @Test(arguments: seeds)
    func `mutated challenges never outnumber the bytes they are read from`(seed: UInt64) throws {
        let corpus = [
            "Bearer realm=\"a, b\", error=\"invalid_token\"", "Basic realm=\"\\\"\", Bearer",
            "Negotiate YII/abc==, DPoP algs=\"ES256\"",
            "Bearer error=insufficient_claims, claims=\"eyJ\\\\\"",
        ].map { bytes($0) }
        var mutator = Mutator(
            seed: seed,
            corpus: corpus,
            words: Self.words.filter { !$0.contains("\r") && !$0.contains("\n") }
        )
        var read = 0
        for _ in 0..<500 {
            let values = [mutator.next(), mutator.noise()].map { value in value.filter { $0 >= 0x20 && $0 != 0x7F } }
            let lines = values.flatMap { bytes("WWW-Authenticate:") + $0 + bytes("\r\n") }
            let answer = bytes("HTTP/1.1 401 No\r\n") + lines + bytes("\r\n")
            let summary = try #require(readAnswer([answer[...]]).summary, "seed \(seed)")
            // Each challenge takes at least one byte, for its name.
            try #require(summary.challenges.count <= values[0].count + values[1].count, "seed \(seed)")
            read += summary.challenges.count
        }
        #expect(read > 200)
    }
}
