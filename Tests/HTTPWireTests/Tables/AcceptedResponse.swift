import HTTPWire
import Testing

/// A response that the parser must accept, the values it must read, and the head that a caller gets.
struct AcceptedResponse: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    var method = HTTPMethod.get
    var status = 200
    var body = BodyFraming.untilClose
    var describedLength: Int?
    var keepsAlive = true
    /// The whole head that a caller gets when the body keeps its framing.
    var passed: [UInt8]

    var testDescription: String { self.name }

    init(
        _ name: String,
        _ lines: [String],
        passed: [String],
        with change: (inout AcceptedResponse) -> Void = { _ in }
    ) {
        self.name = name
        self.bytes = HTTPWireTests.head(lines)
        self.passed = HTTPWireTests.head(passed)
        change(&self)
    }

    static let all = framing + bodiless + fields + lines
    /// Responses that llhttp refuses, because it accepts only one length.
    static let acceptedOnlyHere = equalLengths
}

extension AcceptedResponse {
    static let framing: [AcceptedResponse] = [
        AcceptedResponse(
            "length",
            ["HTTP/1.1 200 OK", "Content-Length: 3", "A: b"],
            passed: ["HTTP/1.1 200 OK", "A: b", "Content-Length: 3"]
        ) { $0.body = .length(3) },
        AcceptedResponse(
            "length 007",
            ["HTTP/1.1 200 OK", "A: b", "content-length:  007 "],
            passed: ["HTTP/1.1 200 OK", "A: b", "Content-Length: 7"]
        ) { $0.body = .length(7) },
        AcceptedResponse(
            "length 0",
            ["HTTP/1.1 200 OK", "Content-Length: 0"],
            passed: ["HTTP/1.1 200 OK", "Content-Length: 0"]
        ) {
            $0.body = .length(0)
        },
        AcceptedResponse(
            "chunked",
            ["HTTP/1.1 200 OK", "Transfer-Encoding: Chunked", "A: b"],
            passed: ["HTTP/1.1 200 OK", "A: b", "Transfer-Encoding: chunked"]
        ) { $0.body = .chunked },
        AcceptedResponse("until close", ["HTTP/1.1 200 OK", "A: b"], passed: ["HTTP/1.1 200 OK", "A: b"]) {
            $0.keepsAlive = false
        },
        AcceptedResponse(
            "until close, though it says keep-alive",
            ["HTTP/1.1 200 OK", "Connection: keep-alive"],
            passed: ["HTTP/1.1 200 OK"]
        ) { $0.keepsAlive = false },
        AcceptedResponse(
            "Connection: close",
            ["HTTP/1.1 200 OK", "Connection: close", "Content-Length: 3"],
            passed: ["HTTP/1.1 200 OK", "Content-Length: 3"]
        ) {
            $0.body = .length(3)
            $0.keepsAlive = false
        },
        AcceptedResponse(
            "HTTP/1.0",
            ["HTTP/1.0 200 OK", "Content-Length: 3"],
            passed: ["HTTP/1.1 200 OK", "Content-Length: 3"]
        ) {
            $0.body = .length(3)
            $0.keepsAlive = false
        },
        AcceptedResponse(
            "HTTP/1.0 that stays",
            ["HTTP/1.0 200 OK", "Connection: Keep-Alive", "Content-Length: 3"],
            passed: ["HTTP/1.1 200 OK", "Content-Length: 3"]
        ) { $0.body = .length(3) },
        AcceptedResponse(
            "a coding that Connection names",
            [
                "HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Connection: keep-alive",
                "Connection: Transfer-Encoding",
            ],
            passed: ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked"]
        ) { $0.body = .chunked },
    ]

    static let equalLengths: [AcceptedResponse] = [
        ["Content-Length: 3", "A: b", "Content-Length: 3"], ["Content-Length: 3, 3", "A: b"],
        ["Content-Length: 3", "A: b", "content-length: 003 ,\t3"],
    ].map { lines in
        AcceptedResponse(
            lines.joined(separator: " | "),
            ["HTTP/1.1 200 OK"] + lines,
            passed: ["HTTP/1.1 200 OK", "A: b", "Content-Length: 3"]
        ) { $0.body = .length(3) }
    }

    static let bodiless: [AcceptedResponse] = [
        AcceptedResponse(
            "HEAD with a length",
            ["HTTP/1.1 200 OK", "Content-Length: 30", "A: b"],
            passed: ["HTTP/1.1 200 OK", "A: b", "Content-Length: 30"]
        ) {
            $0.method = .head
            $0.body = .none
            $0.describedLength = 30
        },
        AcceptedResponse(
            "HEAD, chunked",
            ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "A: b"],
            passed: ["HTTP/1.1 200 OK", "A: b"]
        ) {
            $0.method = .head
            $0.body = .none
        },
        AcceptedResponse(
            "HEAD without framing",
            ["HTTP/1.1 404 Not Found", "A: b"],
            passed: ["HTTP/1.1 404 Not Found", "A: b"]
        ) {
            $0.method = .head
            $0.status = 404
            $0.body = .none
        },
        AcceptedResponse(
            "HEAD with 204 and a length",
            ["HTTP/1.1 204 No", "Content-Length: 3"],
            passed: ["HTTP/1.1 204 No"]
        ) {
            $0.method = .head
            $0.status = 204
            $0.body = .none
            $0.keepsAlive = false
        },
        AcceptedResponse("204", ["HTTP/1.1 204 No Content", "A: b"], passed: ["HTTP/1.1 204 No Content", "A: b"]) {
            $0.status = 204
            $0.body = .none
        },
        AcceptedResponse(
            "204 with a length",
            ["HTTP/1.1 204 No Content", "Content-Length: 0"],
            passed: ["HTTP/1.1 204 No Content"]
        ) {
            $0.status = 204
            $0.body = .none
        },
        AcceptedResponse(
            "204 with the length of something",
            ["HTTP/1.1 204 No Content", "Content-Length: 5"],
            passed: ["HTTP/1.1 204 No Content"]
        ) {
            $0.status = 204
            $0.body = .none
            $0.keepsAlive = false
        },
        AcceptedResponse(
            "204, chunked",
            ["HTTP/1.1 204 No Content", "Transfer-Encoding: chunked"],
            passed: ["HTTP/1.1 204 No Content"]
        ) {
            $0.status = 204
            $0.body = .none
            $0.keepsAlive = false
        },
        AcceptedResponse(
            "304 with a length",
            ["HTTP/1.1 304 Not Modified", "ETag: \"x\"", "Content-Length: 1234"],
            passed: ["HTTP/1.1 304 Not Modified", "ETag: \"x\"", "Content-Length: 1234"]
        ) {
            $0.status = 304
            $0.body = .none
            $0.describedLength = 1234
        },
        AcceptedResponse(
            "304 without a length",
            ["HTTP/1.1 304 Not Modified", "ETag: \"x\""],
            passed: ["HTTP/1.1 304 Not Modified", "ETag: \"x\""]
        ) {
            $0.status = 304
            $0.body = .none
        },
        AcceptedResponse(
            "304, chunked",
            ["HTTP/1.1 304 Not Modified", "Transfer-Encoding: chunked"],
            passed: ["HTTP/1.1 304 Not Modified"]
        ) {
            $0.status = 304
            $0.body = .none
        },
        AcceptedResponse("100", ["HTTP/1.1 100 Continue"], passed: ["HTTP/1.1 100 Continue"]) {
            $0.status = 100
            $0.body = .none
        },
        AcceptedResponse(
            "103 with links",
            ["HTTP/1.1 103 Early Hints", "Link: <//o.example/a>; rel=preload", "Content-Length: 3"],
            passed: ["HTTP/1.1 103 Early Hints", "Link: <//o.example/a>; rel=preload"]
        ) {
            $0.status = 103
            $0.body = .none
        },
        AcceptedResponse(
            "103 to HEAD with a length",
            ["HTTP/1.1 103 Early Hints", "Content-Length: 3"],
            passed: ["HTTP/1.1 103 Early Hints"]
        ) {
            $0.method = .head
            $0.status = 103
            $0.body = .none
        },
        AcceptedResponse(
            "101",
            [
                "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
                "Sec-WebSocket-Accept: x",
            ],
            passed: [
                "HTTP/1.1 101 Switching Protocols", "Sec-WebSocket-Accept: x", "Connection: Upgrade",
                "Upgrade: websocket",
            ]
        ) {
            $0.status = 101
            $0.body = .none
        },
    ]

    static let fields: [AcceptedResponse] = [
        AcceptedResponse(
            "fields byte for byte, in order",
            [
                "HTTP/1.1 200 OK", "set-Cookie: a=b; Path=/", "X_Under:  \t spaced\tout  ", "Set-Cookie: c=d", "Empty:",
                "X: \u{80}\u{FF}\u{E9}", "Date: x", "Trailer: Y",
                "Content-Type: text/plain", "Location: http://u/x", "Content-Length: 3", "Via: 1.1 cache",
                "WWW-Authenticate: Bearer",
            ],
            passed: [
                "HTTP/1.1 200 OK", "X_Under:  \t spaced\tout  ", "Empty:",
                "X: \u{80}\u{FF}\u{E9}", "Date: x", "Trailer: Y",
                "Content-Type: text/plain", "Location: http://u/x", "Via: 1.1 cache", "WWW-Authenticate: Bearer",
                "Content-Length: 3",
            ]
        ) { $0.body = .length(3) },
        AcceptedResponse(
            "fields of the connection",
            [
                "HTTP/1.1 200 OK", "Keep-Alive: timeout=5", "Connection: Keep-Alive, x-gone",
                "Proxy-Connection: keep-alive", "A: b", "X-Gone: 1", "Upgrade: h2", "X-Gone2: 2",
                "TE: x", "Proxy-Authenticate: Basic", "Content-Length: 3",
            ],
            passed: ["HTTP/1.1 200 OK", "A: b", "X-Gone2: 2", "Content-Length: 3"]
        ) { $0.body = .length(3) },
        AcceptedResponse(
            "names that only begin like others",
            ["HTTP/1.1 200 OK", "Content-Lengthy: 5", "Connections: a", "Transfer-Encodings: b", "Content-Length: 3"],
            passed: [
                "HTTP/1.1 200 OK", "Content-Lengthy: 5", "Connections: a", "Transfer-Encodings: b", "Content-Length: 3",
            ]
        ) { $0.body = .length(3) },
    ]

    static let lines: [AcceptedResponse] = [
        ("HTTP/1.1 200", "HTTP/1.1 200 ", 200), ("HTTP/1.1 200 ", "HTTP/1.1 200 ", 200),
        ("HTTP/1.1 299 I am  fine ", "HTTP/1.1 299 I am  fine ", 299),
        ("HTTP/1.1 599 \u{E9}\t\u{FF}", "HTTP/1.1 599 \u{E9}\t\u{FF}", 599),
        ("HTTP/1.1 401 Unauthorized", "HTTP/1.1 401 Unauthorized", 401),
        ("HTTP/1.1 600 Odd", "HTTP/1.1 600 Odd", 600), ("HTTP/1.1 799 Odd", "HTTP/1.1 799 Odd", 799),
        ("HTTP/1.1 999 Request Denied", "HTTP/1.1 999 Request Denied", 999),
    ].map { line, passed, status in
        AcceptedResponse(
            "status line \(line.debugDescription)",
            [line, "Content-Length: 3"],
            passed: [passed, "Content-Length: 3"]
        ) {
            $0.status = status
            $0.body = .length(3)
        }
    }
}
