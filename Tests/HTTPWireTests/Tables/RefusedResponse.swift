import HTTPWire
import Testing

/// A hostile response from an upstream, and the rule that it breaks.
struct RefusedResponse: Sendable, CustomTestStringConvertible {
    let name: String
    /// Operators know the rule by its name.
    let rule: WireRule
    let bytes: [UInt8]

    var testDescription: String { self.name }

    var code: Refusal {
        switch self.rule {
        case .transferEncoding: .notImplemented
        case .httpVersion: .versionUnsupported
        case .headTooLarge, .fieldTooLarge, .tooManyFields: .headTooLarge
        default: .badRequest
        }
    }

    static func fields(_ name: String, _ rule: WireRule, _ lines: String...) -> RefusedResponse {
        RefusedResponse(name: name, rule: rule, bytes: HTTPWireTests.head(["HTTP/1.1 200 OK"] + lines))
    }

    static func line(_ line: String, _ rule: WireRule) -> RefusedResponse {
        RefusedResponse(name: line.debugDescription, rule: rule, bytes: HTTPWireTests.head([line, "X: y"]))
    }

    static func raw(_ name: String, _ rule: WireRule, _ text: String) -> RefusedResponse {
        RefusedResponse(name: name, rule: rule, bytes: HTTPWireTests.bytes(text))
    }

    static let all = framing + syntax + lines

    static let framing: [RefusedResponse] = [
        .fields("both framings", .twoFramings, "Content-Length: 3", "Transfer-Encoding: chunked"),
        .fields("both framings, the other way", .twoFramings, "Transfer-Encoding: chunked", "Content-Length: 3"),
        .fields("two lengths", .contentLengthsDiffer, "Content-Length: 3", "Content-Length: 4"),
        .fields(
            "three lengths, one of them another",
            .contentLengthsDiffer,
            "Content-Length: 3",
            "Content-Length: 3, 4"
        ),
        .fields("length 3, 4", .contentLengthsDiffer, "Content-Length: 3, 4"),
        .fields("length 3,", .contentLength, "Content-Length: 3,"),
        .fields("length 3 3", .contentLength, "Content-Length: 3 3"),
        .fields(
            "two equal lengths and a coding",
            .twoFramings,
            "Content-Length: 3",
            "Content-Length: 3",
            "Transfer-Encoding: chunked"
        ),
        .fields("bytes above 0x7F in a coding", .transferEncodingBytes, "Transfer-Encoding: chun\u{FF}ked"),
        .fields("length -1", .contentLength, "Content-Length: -1"),
        .fields("length empty", .contentLength, "Content-Length:"),
        .fields("length of 20 digits", .contentLength, "Content-Length: 10000000000000000000"),
        .fields("coding gzip", .transferEncodingEnd, "Transfer-Encoding: gzip"),
        .fields("coding gzip, chunked", .transferEncoding, "Transfer-Encoding: gzip, chunked"),
        .fields("coding identity", .transferEncodingEnd, "Transfer-Encoding: identity"),
        .fields("coding twice", .transferEncodingTwice, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
        .raw("coding in HTTP/1.0", .transferEncodingInHTTP10, "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        .raw(
            "both framings on 204",
            .twoFramings,
            "HTTP/1.1 204 X\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n"
        ),
        .raw(
            "both framings on 304",
            .twoFramings,
            "HTTP/1.1 304 X\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"
        ),
        .raw(
            "two lengths on 100",
            .contentLengthsDiffer,
            "HTTP/1.1 100 X\r\nContent-Length: 0\r\nContent-Length: 1\r\n\r\n"
        ),
    ]

    static let syntax: [RefusedResponse] = [
        .fields("folded with a space", .foldedField, "X: y", " z"),
        .fields("folded with a tab", .foldedField, "X: y", "\tz"),
        .fields("a space before the first field", .foldedField, " X: y"),
        .fields("no colon", .fieldName, "Xy"),
        .fields("an empty name", .fieldName, ": y"),
        .fields("a space before the colon", .fieldName, "X : y"),
        .fields("NUL in a value", .fieldValue, "X: a\0b"),
        .fields("NUL in a name", .fieldName, "X\0: b"),
        .fields("DEL in a value", .fieldValue, "X: a\u{7F}b"),
        .fields("VT in a value", .fieldValue, "X: a\u{0B}b"),
        .fields("0x80 in a name", .fieldName, "X\u{80}: b"),
        .fields(
            "Connection: content-length",
            .connectionNamesProtected,
            "Connection: content-length",
            "Content-Length: 3"
        ),
        .fields("Connection: www-authenticate", .connectionNamesProtected, "Connection: www-authenticate"),
        .fields("Connection: set-cookie", .connectionNamesProtected, "Connection: Set-Cookie", "Set-Cookie: a=b"),
        .fields("Connection: a b", .connectionOption, "Connection: a b"),
        .fields("65 options", .tooManyConnectionOptions, "Connection: \(String(repeating: "a,", count: 65))"),
        .fields("Connection: location", .connectionNamesProtected, "Connection: location"),
        .raw("LF behind the status line", .bareLineFeed, "HTTP/1.1 200 OK\nX: y\r\n\r\n"),
        .raw("LF behind a field", .bareLineFeed, "HTTP/1.1 200 OK\r\nX: y\n\r\n"),
        .raw("LF as the empty line", .bareLineFeed, "HTTP/1.1 200 OK\r\nX: y\r\n\n"),
        .raw("CR in a value", .fieldValue, "HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n"),
        .raw("CR CR LF", .doubledCarriageReturn, "HTTP/1.1 200 OK\r\nX: a\r\r\n\r\n"),
        .raw("an empty line before it", .notHTTP, "\r\nHTTP/1.1 200 OK\r\n\r\n"),
    ]

    static let sizes: [RefusedResponse] = [
        .fields("a head over 64 KiB", .headTooLarge, "X: \(String(repeating: "y", count: 64 << 10))"),
        .raw("201 fields", .tooManyFields, "HTTP/1.1 200 OK\r\n\(String(repeating: "X: y\r\n", count: 201))\r\n"),
    ]

    static let lines: [RefusedResponse] =
        [
            "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 2", "HTTP/1.1 20", "HTTP/1.1\t200 OK", " HTTP/1.1 200 OK",
            "http/1.1 200 OK",
            "ICY 200 OK", "HTTP 200 OK is long", "200 OK and more words", "HTTP/1.10 200 OK", "SSH-2.0-OpenSSH_9.2p1",
            "<html><body>hello</body></html>", "{\"error\": \"not http\"}",
        ].map { .line($0, .notHTTP) }
        + [
            "HTTP/1.1 2000", "HTTP/1.1 20 OK", "HTTP/1.1 +20 OK", "HTTP/1.1 2x0 OK", "HTTP/1.1 000 OK",
            "HTTP/1.1 099 OK",
            "HTTP/1.1 1000 OK", "HTTP/1.1  200 OK", "HTTP/1.1 200\tOK", "HTTP/1.1 200OK", "HTTP/1.1 20\u{B2} OK",
        ].map { .line($0, .statusCode) }
        + ["HTTP/1.1 200 O\0K", "HTTP/1.1 200 O\u{7F}K", "HTTP/1.1 200 O\u{0B}K", "HTTP/1.1 200 O\rK"]
        .map { .line($0, .statusLineControl) }
        + ["HTTP/2.0 200 OK", "HTTP/0.9 200 OK"].map { .line($0, .httpVersion) }
}
