/// Bodies, and several requests on one connection.
extension OddRequest {
    private static let everyByte = String(String.UnicodeScalarView((0...255).map { Unicode.Scalar(UInt8($0)) }))
    private static let chunked = "Transfer-Encoding: chunked"

    private static func sent(
        _ name: String,
        method: String = "POST",
        _ lines: String,
        _ body: String,
        arrives framing: String,
        _ content: String,
        isDripped: Bool = false
    ) -> OddRequest {
        OddRequest(
            name,
            "\(method) /acme/x HTTP/1.1\r\nHost: a\r\n\(lines)\r\n\r\n\(body)",
            arrives: PassedRequest("\(method) /v2/x", framing: framing, body: content),
            isDripped: isDripped
        )
    }

    static let bodies: [OddRequest] = [
        sent("length 0 of POST", "Content-Length: 0", "", arrives: "Content-Length: 0", ""),
        sent("length 0 of GET", method: "GET", "content-length:0", "", arrives: "Content-Length: 0", ""),
        sent("a body of GET", method: "GET", "Content-Length: 1", "a", arrives: "Content-Length: 1", "a"),
        sent("every byte", method: "PUT", "Content-Length: 256", everyByte, arrives: "Content-Length: 256", everyByte),
        sent("no chunk", chunked, "0\r\n\r\n", arrives: chunked, ""),
        sent("no chunk of DELETE", method: "DELETE", chunked, "000\r\n\r\n", arrives: chunked, ""),
        sent(
            "every byte in chunks",
            chunked,
            "080\r\n\(String(everyByte.unicodeScalars.prefix(128)))\r\n80;x\r\n"
                + "\(String(everyByte.unicodeScalars.dropFirst(128)))\r\n0\r\n\r\n",
            arrives: chunked,
            everyByte
        ),
        OddRequest(
            "chunks with extensions and trailers",
            "POST /acme/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: CHUNKED\r\nTrailer: X\r\n\r\n"
                + "0005;a=b;c=\"d\"\r\nhello\r\nA;e\r\n0123456789\r\n0;f\r\nX: y\r\nZ: \r\n\r\n",
            arrives: PassedRequest(
                "POST /v2/x",
                "Trailer: X",
                framing: chunked,
                body: "hello0123456789",
                trailers: ["X: y", "Z: "]
            )
        ),
        sent(
            "chunks of one byte",
            chunked,
            "h,e,l,l,o".split(separator: ",").map { "1\r\n\($0)\r\n" }.joined() + "0\r\n\r\n",
            arrives: chunked,
            "hello"
        ),
        sent(
            "a body above what is kept for a replay",
            "Content-Length: 100000",
            long(100_000),
            arrives: "Expect: 100-continue\r\nContent-Length: 100000",
            long(100_000)
        ),
        sent(
            "an expectation",
            method: "PUT",
            "Expect: 100-Continue\r\nContent-Length: 5",
            "hello",
            arrives: "Content-Length: 5",
            "hello"
        ),
        sent(
            "an expectation and no body",
            "Expect: 100-continue\r\nContent-Length: 0",
            "",
            arrives: "Content-Length: 0",
            ""
        ),
        sent(
            "a length, byte by byte",
            "Content-Length: 05",
            "hello",
            arrives: "Content-Length: 5",
            "hello",
            isDripped: true
        ),
        OddRequest(
            "chunks, byte by byte",
            "POST /acme/x HTTP/1.1\r\nHost: a\r\n\(chunked)\r\n\r\n"
                + "5;a\r\nhello\r\n6\r\n world\r\n0\r\nX: y\r\n\r\n",
            arrives: PassedRequest("POST /v2/x", framing: chunked, body: "hello world", trailers: ["X: y"]),
            isDripped: true
        ),
    ]

    static let connections: [OddRequest] = [
        OddRequest(
            "an empty line before the request",
            "\r\nGET /acme/x HTTP/1.1\r\nHost: a\r\n\r\n",
            arrives: PassedRequest("GET /v2/x")
        ),
        OddRequest(
            "HTTP/1.0 without a host",
            "GET /acme/x HTTP/1.0\r\n\r\n",
            arrives: PassedRequest("GET /v2/x", version: "1.0")
        ),
        OddRequest(
            "HTTP/1.0 that stays, with a body, then without",
            "POST /acme/1 HTTP/1.0\r\nConnection: Keep-Alive\r\nContent-Length: 3\r\n\r\nabc"
                + "GET /acme/2 HTTP/1.0\r\nConnection: x, keep-alive\r\nX: y\r\n\r\n",
            arrives: PassedRequest("POST /v2/1", framing: "Content-Length: 3", body: "abc", version: "1.0"),
            PassedRequest("GET /v2/2", version: "1.0")
        ),
        OddRequest(
            "five at once, of every framing",
            "GET /acme/1 HTTP/1.1\r\nHost: a\r\n\r\n"
                + "POST /acme/2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
                + "PUT /acme/3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ndef\r\n0\r\n\r\n"
                + "LOCK /acme/4 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
                + "DELETE /acme/5 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
            arrives: PassedRequest("GET /v2/1"),
            PassedRequest("POST /v2/2", framing: "Content-Length: 3", body: "abc"),
            PassedRequest("PUT /v2/3", framing: "Transfer-Encoding: chunked", body: "def"),
            PassedRequest("LOCK /v2/4", framing: "Content-Length: 0"),
            PassedRequest("DELETE /v2/5")
        ),
        OddRequest(
            "two, byte by byte",
            "GET /acme/1 HTTP/1.1\r\nHost: a\r\nX: \u{FF}\r\n\r\n\r\nGET /kept/2 HTTP/1.1\r\nHost: a\r\n\r\n",
            arrives: PassedRequest("GET /v2/1", "X: \u{FF}"),
            PassedRequest("GET /v3/kept/2"),
            isDripped: true
        ),
    ]
}
