import Proxy

/// Chunked bodies (RFC 9112 §7.1).
extension HostileCase {
    static let chunkedBodies: [HostileCase] = extensions + brokenChunks + brokenLater + passedTrailers

    private static func extended(_ name: String, _ body: String, _ content: String) -> HostileCase {
        .passing(
            .chunkExtensions,
            name,
            "POST /acme/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body,
            PassedRequest("POST /v2/x", framing: "Transfer-Encoding: chunked", body: content)
        )
    }

    private static func long(_ count: Int) -> String { String(repeating: "x", count: count) }

    private static let extensions: [HostileCase] = [
        extended("a name", "5;a\r\nhello\r\n0\r\n\r\n", "hello"),
        extended("a value", "5;a=b\r\nhello\r\n0;c=d\r\n\r\n", "hello"),
        extended("a quoted value", "5;a=\"b;\\\"c\"\r\nhello\r\n0\r\n\r\n", "hello"),
        extended("spaces within", "5; a = \"b\" ;\tc\r\nhello\r\n0\r\n\r\n", "hello"),
        .chunks(.chunkExtensions, "5;\r\nhello\r\n0\r\n\r\n"),
        .chunks(.chunkExtensions, "5;bad[=x\r\nhello\r\n0\r\n\r\n"),
        .chunks(.chunkExtensions, "5;a=\"b\r\nhello\r\n0\r\n\r\n"),
        .chunks(.chunkExtensions, "5;a=b \r\nhello\r\n0\r\n\r\n"),
        .chunks(.chunkExtensions, "5\r\nhello\r\n0;\r\n\r\n", after: ["hello"]),
        extended("1 KiB", "5;\(long(511))\r\nhello\r\n0;\(long(511))\r\n\r\n", "hello"),
        .chunks(.chunkExtensions, "5;\(long(1024))\r\nhello\r\n"),
        .chunks(
            .chunkExtensions,
            "5;\(long(511))\r\nhello\r\n0;\(long(512))\r\n\r\n",
            after: ["hello"]
        ),
        .chunks(
            .chunkExtensions,
            String(repeating: "1;\(long(99))\r\na\r\n", count: 11),
            after: Array(repeating: "a", count: 10)
        ),
        .chunks(.chunkExtensions, "5;\(long(4_000))"),
        .chunks(.chunkExtensions, "5;a\nb\r\nhello\r\n0\r\n\r\n"),
        .chunks(.chunkExtensions, "5;a\rb\r\nhello\r\n0\r\n\r\n"),
        .chunks(.chunkExtensions, "5;a\0\r\nhello\r\n0\r\n\r\n"),
    ]

    private static let brokenChunks: [HostileCase] = broken.map {
        .chunks($0.contains(":") ? .trailers : .chunkSizes, $0)
    }

    private static let broken: [String] = [
        "0x1\r\na\r\n0\r\n\r\n", "0X1\r\na\r\n0\r\n\r\n", "+1\r\na\r\n0\r\n\r\n", "-1\r\na\r\n0\r\n\r\n",
        " 1\r\na\r\n0\r\n\r\n", "1 \r\na\r\n0\r\n\r\n", "\t1\r\na\r\n0\r\n\r\n", "1\t\r\na\r\n0\r\n\r\n",
        "1 ;a\r\na\r\n0\r\n\r\n", "1 2\r\na\r\n0\r\n\r\n", "1_0\r\na\r\n0\r\n\r\n", "g\r\na\r\n0\r\n\r\n",
        "1h\r\na\r\n0\r\n\r\n", "1.\r\na\r\n0\r\n\r\n", "\u{B2}\r\na\r\n0\r\n\r\n", "\r\na\r\n0\r\n\r\n",
        ";a\r\na\r\n0\r\n\r\n", "\0\r\na\r\n0\r\n\r\n",
        "10000000000000000\r\na\r\n0\r\n\r\n", "10000000000000001\r\na\r\n0\r\n\r\n",
        "ffffffffffffffff\r\na\r\n0\r\n\r\n", "8000000000000000\r\na\r\n0\r\n\r\n", "0000000000000000\r\n\r\n",
        String(repeating: "0", count: 100), "1\na\r\n0\r\n\r\n", "1\ra\r\n0\r\n\r\n", "1\r\r\na\r\n0\r\n\r\n",
        "0\n\r\n", "0\r\n\n", "0\r\n\rX", "0\r\r\n\r\n", "00x\r\n\r\n",
        "0\r\nX: y\n\r\n", "0\r\nX: y\r\n\n", "0\r\nX: y\r\n z\r\n\r\n", "0\r\n X: y\r\n\r\n", "0\r\nXy\r\n\r\n",
        "0\r\n: y\r\n\r\n", "0\r\nX : y\r\n\r\n", "0\r\nX: \0\r\n\r\n", "0\r\nX: \r\r\n\r\n",
        "0\r\nGET /acme/smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
    ]

    private static let brokenLater: [HostileCase] = [
        .chunks(.chunkSizes, "1\r\nab\r\n0\r\n\r\n", after: ["a"]),
        .chunks(.chunkSizes, "1\r\na\n0\r\n\r\n", after: ["a"]),
        .chunks(.chunkSizes, "1\r\na\r0\r\n\r\n", after: ["a"]),
        .chunks(.chunkSizes, "1\r\na0\r\n\r\n", after: ["a"]),
        .chunks(.chunkSizes, "1\r\nabc\r\n0\r\n\r\n", after: ["a"]),
        .chunks(.chunkSizes, "4\r\nab\r\n0\r\n\r\n", after: ["ab\r\n"]),
        .chunks(.chunkSizes, "1\r\na\r\n1\r\nb\r\n0x0\r\n\r\n", after: ["a", "b"]),
        .chunks(
            .trailers,
            "0\r\n" + String(repeating: "A: b\r\n", count: 33) + "\r\n",
            refused: .headTooLarge
        ),
        .chunks(.trailers, "0\r\nX: \(long(8_200))\r\n\r\n", refused: .headTooLarge),
        .chunks(
            .trailers,
            "0\r\n" + String(repeating: "X: \(long(5_000))\r\n", count: 4) + "\r\n",
            refused: .headTooLarge
        ),
    ]

    private static func trailed(
        _ name: String,
        te lines: [String],
        _ trailers: [String],
        passing passed: [String]
    ) -> HostileCase {
        .passing(
            .trailers,
            name,
            "POST /acme/x HTTP/1.1\r\nHost: a\r\n" + lines.map { $0 + "\r\n" }.joined()
                + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n" + trailers.map { $0 + "\r\n" }.joined()
                + "\r\n",
            PassedRequest("POST /v2/x", framing: "Transfer-Encoding: chunked", body: "hello", trailers: passed)
        )
    }

    private static let honest = ["X-Checksum: 1", "grpc-status:0", "X_Caf: \u{E9}"]
    private static let dishonest = [
        "Content-Length: 3", "transfer-encoding: chunked", "Host: evil", "Authorization: Bearer canary",
        "Martlet-Key: canary", "martlet-account: bob", "Connection: close", "TE: trailers", "Trailer: X",
        "X-Forwarded-For: 1.2.3.4", "Forwarded: for=b", "X-Real-IP: 1.2.3.4", "Cookie: a=b", "Content-Type: x/y",
        "Content-Encoding: gzip", "Expect: 100-continue", "Via: 1.1 b", "Proxy-Authorization: Basic canary",
        "Upgrade: h2c", "Keep-Alive: 1", "Transfer_Encoding: chunked", "X_Forwarded_For: 1.2.3.4", "X-Original-URL: /x",
        "X-HTTP-Method-Override: DELETE", "Set-Cookie: a=b", "Sec-Fetch-Site: none", "Alt-Svc: x",
    ]

    private static let passedTrailers: [HostileCase] = [
        trailed("they pass", te: [], honest, passing: honest),
        trailed("whatever the caller takes itself", te: ["TE: gzip"], honest, passing: honest),
        trailed("te: trailers", te: ["TE: trailers", "Connection: TE"], honest, passing: honest),
        trailed(
            "but none that frames, routes or authenticates",
            te: [],
            [honest[0]] + dishonest + [honest[1]],
            passing: [honest[0], honest[1]]
        ),
    ]
}
