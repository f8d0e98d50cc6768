import HTTPWire
import Testing

/// A chunked body, and what the decoder must make of it.
struct ChunkedBody: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    let summary: BodySummary

    var testDescription: String { self.name }

    private init(_ name: String, _ text: String, _ summary: BodySummary) {
        self.name = name
        self.bytes = HTTPWireTests.bytes(text)
        self.summary = summary
    }

    static func accepted(
        _ name: String,
        _ text: String,
        _ content: String,
        trailers: [String] = [],
        rest: String = ""
    ) -> ChunkedBody {
        ChunkedBody(name, text, BodySummary(content: content, trailers: trailers, end: .clean, rest: rest))
    }

    /// - Parameter content: the content that the decoder returns before it finds the fault.
    static func refused(
        _ name: String,
        _ text: String,
        after content: String = "",
        _ code: Refusal = .badRequest
    ) -> ChunkedBody {
        ChunkedBody(name, text, BodySummary(content: content, end: .refused(code)))
    }

    static let accepted: [ChunkedBody] = [
        .accepted("empty", "0\r\n\r\n", ""),
        .accepted("empty with zeros", "000\r\n\r\n", ""),
        .accepted("15 zeros", "000000000000000\r\n\r\n", ""),
        .accepted("one chunk", "5\r\nhello\r\n0\r\n\r\n", "hello"),
        .accepted("several", "1\r\na\r\n2\r\nbc\r\n3\r\ndef\r\n0\r\n\r\n", "abcdef"),
        .accepted(
            "a size in hexadecimal",
            "1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n",
            "abcdefghijklmnopqrstuvwxyz"
        ),
        .accepted("a size in capitals, with zeros", "000C\r\nabcdefghijkl\r\n0\r\n\r\n", "abcdefghijkl"),
        .accepted("CRLF in the data", "6\r\n\r\n0\r\n\r\r\n0\r\n\r\n", "\r\n0\r\n\r"),
        .accepted("NUL and 0xFF in the data", "3\r\n\0\u{FF}\n\r\n0\r\n\r\n", "\0\u{FF}\n"),
        .accepted("bytes behind the end", "1\r\na\r\n0\r\n\r\nGET / HTTP/1.1\r\n", "a", rest: "GET / HTTP/1.1\r\n"),
        .accepted("an extension", "5;a=b\r\nhello\r\n0\r\n\r\n", "hello"),
        .accepted("extensions", "5;a;b=\"c;\\\"d\";e=f\r\nhello\r\n0;last\r\n\r\n", "hello"),
        .accepted(
            "1 KiB of extensions",
            "1;\(String(repeating: "x", count: 511))\r\na\r\n0;\(String(repeating: "y", count: 511))\r\n\r\n",
            "a"
        ),
        .accepted("a trailer", "1\r\na\r\n0\r\nX: y\r\n\r\n", "a", trailers: ["X: y"]),
        .accepted(
            "trailers",
            "0\r\nA:\r\nX_y: \u{FF} z \r\nA: b\r\n\r\nrest",
            "",
            trailers: ["A: ", "X_y: \u{FF} z", "A: b"],
            rest: "rest"
        ),
        .accepted(
            "32 trailers",
            "0\r\n" + String(repeating: "A: b\r\n", count: 32) + "\r\n",
            "",
            trailers: Array(repeating: "A: b", count: 32)
        ),
    ]

    /// Bodies that llhttp refuses for bad whitespace, which a recipient must read (RFC 9112 §7.1.1).
    static let acceptedOnlyHere: [ChunkedBody] = [
        .accepted("spaces in an extension", "5; a = b ;\tc\r\nhello\r\n0\r\n\r\n", "hello"),
        .accepted("spaces around a quoted value", "5;\ta =  \" \\\" \" ; b\r\nhello\r\n0\r\n\r\n", "hello"),
        .accepted("bytes above 0x7F in a quoted value", "5;a=\"\u{FF}\\\u{FF}\"\r\nhello\r\n0\r\n\r\n", "hello"),
    ]

    static let refusedExtensions: [ChunkedBody] =
        [
            ";", ";;a", ";a;", "; ", ";a ", ";a=b ", ";a=\"b\" ", ";=b", ";a=", ";a==b", ";a=;b", ";a b", ";a=b c",
            ";a=b=c",
            ";a=\"b", ";a=\"b\\\"", ";a=\"b\"c", ";a=b\"c\"", ";\"a\"", ";a(", ";a=(", ";a,b", ";a\u{FF}", ";a=\u{FF}",
            ";a\u{7F}", ";a=\"\u{1}\"", ";a=\"\\\u{1}\"", ";a/b", ";a\tb",
        ].map { .refused("extension \($0.debugDescription)", "5\($0)\r\nhello\r\n0\r\n\r\n") }

    static let refused: [ChunkedBody] = [
        .refused("size 0x1", "0x1\r\na\r\n0\r\n\r\n"),
        .refused("size +1", "+1\r\na\r\n0\r\n\r\n"),
        .refused("size -1", "-1\r\na\r\n0\r\n\r\n"),
        .refused("a space before the size", " 1\r\na\r\n0\r\n\r\n"),
        .refused("a space behind the size", "1 \r\na\r\n0\r\n\r\n"),
        .refused("a tab behind the size", "1\t\r\na\r\n0\r\n\r\n"),
        .refused("a space before an extension", "1 ;a\r\na\r\n0\r\n\r\n"),
        .refused("two sizes", "1 2\r\na\r\n0\r\n\r\n"),
        .refused("1_0", "1_0\r\na\r\n0\r\n\r\n"),
        .refused("no hexadecimal digit", "g\r\na\r\n0\r\n\r\n"),
        .refused("a digit above 0x7F", "\u{B2}\r\na\r\n0\r\n\r\n"),
        .refused("an empty size", "\r\na\r\n0\r\n\r\n"),
        .refused("an extension without a size", ";a\r\na\r\n0\r\n\r\n"),
        .refused("overflow at 2^64", "10000000000000000\r\na\r\n0\r\n\r\n"),
        .refused("overflow to 1", "10000000000000001\r\na\r\n0\r\n\r\n"),
        .refused("2^64 - 1", "ffffffffffffffff\r\na\r\n0\r\n\r\n"),
        .refused("2^63", "8000000000000000\r\na\r\n0\r\n\r\n"),
        .refused("16 zeros", "0000000000000000\r\n\r\n"),
        .refused("zeros without end", String(repeating: "0", count: 100)),
        .refused("LF behind the size", "1\na\r\n0\r\n\r\n"),
        .refused("CR behind the size", "1\ra\r\n0\r\n\r\n"),
        .refused("CR CR LF behind the size", "1\r\r\na\r\n0\r\n\r\n"),
        .refused("LF in an extension", "1;a\nb\r\na\r\n0\r\n\r\n"),
        .refused("CR in an extension", "1;a\rb\r\na\r\n0\r\n\r\n"),
        .refused("NUL in an extension", "1;\0\r\na\r\n0\r\n\r\n"),
        .refused("1 KiB and a byte of extension", "1;\(String(repeating: "x", count: 1024))\r\na\r\n0\r\n\r\n"),
        .refused(
            "1 KiB and a byte of extensions",
            "1;\(String(repeating: "x", count: 511))\r\na\r\n0;\(String(repeating: "y", count: 512))\r\n\r\n",
            after: "a"
        ),
        .refused("an extension without end", "1;" + String(repeating: "x", count: 2000)),
        .refused("no CRLF behind the data", "1\r\nab\r\n0\r\n\r\n", after: "a"),
        .refused("LF behind the data", "1\r\na\n0\r\n\r\n", after: "a"),
        .refused("CR behind the data", "1\r\na\r0\r\n\r\n", after: "a"),
        .refused("data longer than its size", "1\r\nabc\r\n0\r\n\r\n", after: "a"),
        .refused("data shorter than its size", "4\r\nab\r\n0\r\n\r\n", after: "ab\r\n"),
        .refused("LF as the end", "0\r\n\n"),
        .refused("CR and no LF as the end", "0\r\n\rX"),
        .refused("LF behind a trailer", "0\r\nX: y\n\r\n"),
        .refused("LF behind the trailers", "0\r\nX: y\r\n\n"),
        .refused("a folded trailer", "0\r\nX: y\r\n z\r\n\r\n"),
        .refused("an indented trailer", "0\r\n X: y\r\n\r\n"),
        .refused("a trailer without a colon", "0\r\nXy\r\n\r\n"),
        .refused("a trailer without a name", "0\r\n: y\r\n\r\n"),
        .refused("a space before a trailer's colon", "0\r\nX : y\r\n\r\n"),
        .refused("NUL in a trailer", "0\r\nX: \0\r\n\r\n"),
        .refused("CR in a trailer", "0\r\nX: \r\r\n\r\n"),
        .refused("a request in place of trailers", "0\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        .refused("33 trailers", "0\r\n" + String(repeating: "A: b\r\n", count: 33) + "\r\n", .headTooLarge),
        .refused("a trailer over 8 KiB", "0\r\nX: " + String(repeating: "y", count: 8190) + "\r\n\r\n", .headTooLarge),
        .refused(
            "trailers over 16 KiB",
            "0\r\n" + String(repeating: "X: \(String(repeating: "y", count: 5000))\r\n", count: 4) + "\r\n",
            .headTooLarge
        ),
        .refused("trailers without end", "0\r\nX: " + String(repeating: "y", count: 17 << 10), .headTooLarge),
    ]
}
