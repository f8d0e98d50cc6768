import Proxy

/// Fields that frame a body (RFC 9112 §6), and fields that may be mistaken for them.
extension HostileCase {
    static let framing: [HostileCase] =
        lengthAndCoding + oddLengths + twoLengths + paddedLengths + codings + oddCodings
        + passedCodings + bodies

    private static let lengthAndCoding: [HostileCase] = [
        .fields(.lengthAndCoding, "Content-Length: 3", "Transfer-Encoding: chunked"),
        .fields(.lengthAndCoding, "Transfer-Encoding: chunked", "Content-Length: 3"),
        .fields(.lengthAndCoding, "Transfer-Encoding: chunked", "Content-Length: 0"),
        .fields(.lengthAndCoding, "content-length: 3", "TRANSFER-ENCODING: CHUNKED"),
        .fields(.lengthAndCoding, "transfer-encoding:chunked", "X: y", "CONTENT-LENGTH:\t3"),
        .fields(.lengthAndCoding, "Content-Length: 3", "X: y", "Transfer-Encoding: chunked", "Y: z"),
        .fields(.lengthAndCoding, "Content-Length: 3", "Transfer-Encoding: identity"),
        .fields(.lengthAndCoding, "Content-Length: 3", "Transfer-Encoding:"),
        .fields(.lengthAndCoding, "Transfer-Encoding: chunked", "Content-Length:"),
        .head(.lengthAndCoding, "GET /acme/x HTTP/1.1", "Host: a", "Content-Length: 0", "Transfer-Encoding: chunked"),
        .head(.lengthAndCoding, "POST /acme/x HTTP/1.0", "Transfer-Encoding: chunked", "Content-Length: 3"),
    ]

    private static let oddLengths: [HostileCase] = lengths.map { .fields(.lengths, $0) }

    private static let lengths: [String] = [
        "Content-Length: 3, 3", "Content-Length: 3,3", "Content-Length: 3,", "Content-Length: ,3",
        "Content-Length: 3, 4", "Content-Length: +3", "Content-Length: -1", "Content-Length: -0",
        "Content-Length: 0x3", "Content-Length: 0X3", "Content-Length: 3.0", "Content-Length: 1e2",
        "Content-Length: 3_0", "Content-Length:", "Content-Length:   ", "Content-Length: \t",
        "Content-Length: 10000000000000000000", "Content-Length: 18446744073709551619",
        "Content-Length: 00000000000000000003", "Content-Length: 9223372036854775808",
        "Content-Length: 3 4", "Content-Length: 3\t4", "Content-Length: 3;", "Content-Length: \"3\"",
        "Content-Length: 3\u{B2}", "Content-Length: \u{A0}3", "Content-Length: three", "Content-Length: 3\u{0B}",
    ]

    private static let twoLengths: [HostileCase] = [
        .fields(.lengths, "Content-Length: 3", "Content-Length: 3"),
        .fields(.lengths, "Content-Length: 3", "Content-Length: 4"),
        .fields(.lengths, "Content-Length: 4", "Content-Length: 3"),
        .fields(.lengths, "Content-Length: 0", "content-length: 0"),
        .fields(.lengths, "CONTENT-LENGTH: 3", "X: y", "content-length: 30"),
        .fields(.lengths, "Content-Length: 3", "Content-Length:"),
        .fields(.lengths, "Content-Length:", "Content-Length: 3"),
        .head(.lengths, "GET /acme/x HTTP/1.0", "Content-Length: 3", "Content-Length: 3"),
    ]

    private static func padded(_ line: String, _ length: String, _ body: String = "abc") -> HostileCase {
        .passing(
            .paddedLengths,
            line.debugDescription,
            "POST /acme/x HTTP/1.1\r\nHost: a\r\n\(line)\r\n\r\n\(body)",
            PassedRequest("POST /v2/x", framing: "Content-Length: \(length)", body: body)
        )
    }

    private static let paddedLengths: [HostileCase] = [
        padded("Content-Length: 003", "3"), padded("Content-Length: 3 ", "3"), padded("Content-Length: 3\t ", "3"),
        padded("Content-Length:3", "3"), padded("Content-Length: \t  3", "3"), padded("content-length:\t003\t", "3"),
        padded("CONTENT-LENGTH: 000000000000000003", "3"), padded("Content-Length: 000", "0", ""),
    ]

    private static let codings: [HostileCase] =
        otherCodings.map { .fields(.codings, "Transfer-Encoding: \($0)", refused: .notImplemented) }
        + openCodings.map { .fields(.codings, "Transfer-Encoding: \($0)") }

    private static let otherCodings: [String] = [
        "gzip, chunked", "identity, chunked", ", gzip ,,CHUNKED,", "\"chunked\", chunked",
    ]

    /// Nothing says where such a body would end.
    private static let openCodings: [String] = [
        "gzip", "identity", "xchunked", "chunkedx", "chunked;q=1", "chunked ;x", "\"chunked\"",
        "chunked, chunked", "chunked, gzip, chunked", "chunked, identity", "", ",", "deflate",
        "CHUNKED, gzip", "chun ked", "chunke", "x", "chunked;x, y", "\"chunked, chunked\"",
    ]

    private static let oddCodings: [HostileCase] = [
        .fields(.codings, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
        .fields(.codings, "Transfer-Encoding: chunked", "transfer-encoding: identity"),
        .fields(
            .codings,
            "Transfer-Encoding: identity",
            "Transfer-Encoding: chunked"
        ),
        .fields(.codings, "Transfer-Encoding: \u{0B}chunked"),
        .fields(.codings, "Transfer-Encoding: chunked\u{0B}"),
        .fields(.codings, "Transfer-Encoding: \u{0C}chunked"),
        .fields(.codings, "Transfer-Encoding: chunked\u{0C}"),
        .fields(.codings, "Transfer-Encoding : chunked"),
        .fields(.codings, "Transfer-Encoding\t: chunked"),
        .fields(.codings, "X: y", " Transfer-Encoding: chunked"),
        .head(.codings, "GET /acme/x HTTP/1.1", "Host: a", "Transfer-Encoding: gzip"),
        .head(.codingInOldVersion, "POST /acme/x HTTP/1.0", "Host: a", "Transfer-Encoding: chunked"),
        .head(.codingInOldVersion, "POST /acme/x HTTP/1.0", "transfer-encoding: CHUNKED"),
        .head(.codingInOldVersion, "POST /acme/x HTTP/1.0", "Transfer-Encoding: identity"),
        .head(.codingInOldVersion, "GET /acme/x HTTP/1.0", "Connection: keep-alive", "Transfer-Encoding: chunked"),
    ]

    private static let passedCodings: [HostileCase] =
        [
            "Transfer-Encoding: CHUNKED", "Transfer-Encoding: Chunked", "transfer-encoding:chunked",
            "TRANSFER-ENCODING: \t chunked \t", "Transfer-Encoding: ,chunked", "Transfer-Encoding: chunked, ,",
        ].map { line in
            .passing(
                .codingCase,
                line.debugDescription,
                "POST /acme/x HTTP/1.1\r\nHost: a\r\n\(line)\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
                PassedRequest("POST /v2/x", framing: "Transfer-Encoding: chunked", body: "hello")
            )
        }

    /// Requests whose body looks like a request. Without framing the body would be one.
    private static let bodies: [HostileCase] = [
        "GET", "HEAD", "DELETE", "OPTIONS", "POST", "PUT", "PATCH", "PURGE", "x-custom", "LINK",
    ].flatMap { method in
        let body = "GET /v2/smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
        let head = "\(method) /acme/x HTTP/1.1\r\nHost: a\r\n"
        let size = String(body.utf8.count, radix: 16)
        return [
            HostileCase.passing(
                .bodyOnAnyMethod,
                "\(method) with a length",
                head + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)",
                PassedRequest("\(method) /v2/x", framing: "Content-Length: \(body.utf8.count)", body: body)
            ),
            .passing(
                .bodyOnAnyMethod,
                "\(method), chunked",
                head + "Transfer-Encoding: chunked\r\n\r\n\(size)\r\n\(body)\r\n0\r\n\r\n",
                PassedRequest("\(method) /v2/x", framing: "Transfer-Encoding: chunked", body: body)
            ),
            // After a head without framing comes the next request, at the gateway and at the upstream.
            .passing(
                .bodyOnAnyMethod,
                "\(method) without a framing field",
                head + "\r\n" + "GET /acme/second HTTP/1.1\r\nHost: a\r\n\r\n",
                PassedRequest("\(method) /v2/x"),
                PassedRequest("GET /v2/second")
            ),
        ]
    }
}
