import HTTPWire
import Testing

/// A row of the hostile input from upstreams.
struct RefusedAnswer: Sendable, CustomTestStringConvertible {
    let name: String
    let code: Refusal
    let bytes: [UInt8]

    var testDescription: String { self.name }

    static func fields(_ name: String, _ code: Refusal = .badRequest, _ lines: String...) -> RefusedAnswer {
        RefusedAnswer(name: name, code: code, bytes: HTTPWireTests.head(["HTTP/1.1 200 OK"] + lines))
    }

    static func line(_ line: String, _ code: Refusal = .badRequest) -> RefusedAnswer {
        RefusedAnswer(name: line.debugDescription, code: code, bytes: HTTPWireTests.head([line, "X: y"]))
    }

    static func raw(_ name: String, _ code: Refusal = .badRequest, _ text: String) -> RefusedAnswer {
        RefusedAnswer(name: name, code: code, bytes: HTTPWireTests.bytes(text))
    }

    static let all = framing + syntax + lines

    static let framing: [RefusedAnswer] = [
        .fields("both framings", .badRequest, "Content-Length: 3", "Transfer-Encoding: chunked"),
        .fields("both framings, the other way", .badRequest, "Transfer-Encoding: chunked", "Content-Length: 3"),
        .fields("two lengths", .badRequest, "Content-Length: 3", "Content-Length: 4"),
        .fields("two equal lengths", .badRequest, "Content-Length: 3", "Content-Length: 3"),
        .fields("length 3, 3", .badRequest, "Content-Length: 3, 3"),
        .fields("length -1", .badRequest, "Content-Length: -1"),
        .fields("length empty", .badRequest, "Content-Length:"),
        .fields("length of 20 digits", .badRequest, "Content-Length: 10000000000000000000"),
        .fields("coding gzip", .notImplemented, "Transfer-Encoding: gzip"),
        .fields("coding gzip, chunked", .notImplemented, "Transfer-Encoding: gzip, chunked"),
        .fields("coding identity", .notImplemented, "Transfer-Encoding: identity"),
        .fields("coding twice", .badRequest, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
        .raw("coding in HTTP/1.0", .badRequest, "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        .raw(
            "both framings on 204",
            .badRequest,
            "HTTP/1.1 204 X\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n"
        ),
        .raw(
            "both framings on 304",
            .badRequest,
            "HTTP/1.1 304 X\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"
        ),
        .raw("two lengths on 100", .badRequest, "HTTP/1.1 100 X\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n"),
    ]

    static let syntax: [RefusedAnswer] = [
        .fields("folded with a space", .badRequest, "X: y", " z"),
        .fields("folded with a tab", .badRequest, "X: y", "\tz"),
        .fields("a space before the first field", .badRequest, " X: y"),
        .fields("no colon", .badRequest, "Xy"),
        .fields("an empty name", .badRequest, ": y"),
        .fields("a space before the colon", .badRequest, "X : y"),
        .fields("NUL in a value", .badRequest, "X: a\0b"),
        .fields("NUL in a name", .badRequest, "X\0: b"),
        .fields("DEL in a value", .badRequest, "X: a\u{7F}b"),
        .fields("VT in a value", .badRequest, "X: a\u{0B}b"),
        .fields("0x80 in a name", .badRequest, "X\u{80}: b"),
        .fields("Connection: content-length", .badRequest, "Connection: content-length", "Content-Length: 3"),
        .fields("Connection: www-authenticate", .badRequest, "Connection: www-authenticate"),
        .fields("Connection: set-cookie", .badRequest, "Connection: Set-Cookie", "Set-Cookie: a=b"),
        .fields("Connection: location", .badRequest, "Connection: location"),
        .raw("LF behind the status line", .badRequest, "HTTP/1.1 200 OK\nX: y\r\n\r\n"),
        .raw("LF behind a field", .badRequest, "HTTP/1.1 200 OK\r\nX: y\n\r\n"),
        .raw("LF as the empty line", .badRequest, "HTTP/1.1 200 OK\r\nX: y\r\n\n"),
        .raw("CR in a value", .badRequest, "HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n"),
        .raw("CR CR LF", .badRequest, "HTTP/1.1 200 OK\r\nX: a\r\r\n\r\n"),
        .raw("an empty line before it", .badRequest, "\r\nHTTP/1.1 200 OK\r\n\r\n"),
    ]

    static let lines: [RefusedAnswer] =
        [
            "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 2", "HTTP/1.1 20", "HTTP/1.1 2000", "HTTP/1.1 20 OK", "HTTP/1.1 +20 OK",
            "HTTP/1.1 2x0 OK",
            "HTTP/1.1 000 OK", "HTTP/1.1 099 OK", "HTTP/1.1 600 OK", "HTTP/1.1 999 OK", "HTTP/1.1  200 OK",
            "HTTP/1.1\t200 OK", "HTTP/1.1 200\tOK",
            "HTTP/1.1 200OK", " HTTP/1.1 200 OK", "http/1.1 200 OK", "ICY 200 OK", "HTTP 200 OK is long",
            "200 OK and more words", "HTTP/1.10 200 OK",
            "HTTP/1.1 200 O\0K", "HTTP/1.1 200 O\u{7F}K", "HTTP/1.1 200 O\u{0B}K", "HTTP/1.1 200 O\rK",
            "HTTP/1.1 20\u{B2} OK",
            "SSH-2.0-OpenSSH_9.2p1", "<html><body>hello</body></html>", "{\"error\": \"not http\"}",
        ].map { .line($0) }
        + ["HTTP/1.2 200 OK", "HTTP/2.0 200 OK", "HTTP/0.9 200 OK"].map { .line($0, .versionUnsupported) }
}
