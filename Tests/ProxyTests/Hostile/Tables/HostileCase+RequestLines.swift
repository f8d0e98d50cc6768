import Proxy

/// Request lines (RFC 9112 §3), methods and sizes.
extension HostileCase {
    static let requestLines: [HostileCase] = methods + lines + sizes

    private static let methods: [HostileCase] = [
        .line(.traceAndConnect, "TRACE /acme/x HTTP/1.1", refused: .methodNotAllowed),
        .line(.traceAndConnect, "TRACE * HTTP/1.1", refused: .methodNotAllowed),
        .line(.traceAndConnect, "TRACE /acme/x HTTP/1.0", refused: .methodNotAllowed),
        .line(.traceAndConnect, "TRACE http://a/acme/x HTTP/1.1", refused: .methodNotAllowed),
        .line(.traceAndConnect, "TRACK /acme/x HTTP/1.1", refused: .methodNotAllowed),
        .line(.traceAndConnect, "CONNECT a:443 HTTP/1.1", refused: .methodNotAllowed),
        .line(.traceAndConnect, "CONNECT a HTTP/1.1", refused: .methodNotAllowed),
        .line(.traceAndConnect, "CONNECT /acme/x HTTP/1.1", refused: .methodNotAllowed),
        .line(.traceAndConnect, "CONNECT a:443 HTTP/1.0", refused: .methodNotAllowed),
        .raw(
            .traceAndConnect,
            "TRACE with a body",
            "TRACE /acme/x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
            .methodNotAllowed
        ),
        .raw(.preface, "the preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        .raw(.preface, "the preface and a frame", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0"),
        .raw(.preface, "the preface in HTTP/1.1", "PRI * HTTP/1.1\r\nHost: a\r\n\r\n"),
        .raw(.preface, "PRI with a path", "PRI /acme/x HTTP/1.1\r\nHost: a\r\n\r\n"),
    ]

    private static let lines: [HostileCase] =
        oddLines.map { .line(.requestLine, $0) }
        + oddVersions.map { .line(.requestLine, "GET /acme/x HTTP/\($0)", refused: .versionUnsupported) }

    private static let oddVersions: [String] = ["0.9", "2.0", "0.0", "3.1", "9.9"]

    private static let oddLines: [String] = [
        "GET  /acme/x HTTP/1.1", "GET /acme/x  HTTP/1.1", "GET\t/acme/x HTTP/1.1", "GET /acme/x\tHTTP/1.1",
        "GET \t/acme/x HTTP/1.1", " GET /acme/x HTTP/1.1", "\tGET /acme/x HTTP/1.1", "GET /acme/x HTTP/1.1 ",
        "GET /acme/x HTTP/1.1\t", "GET /acme/x HTTP/1.1 x", "GET /acme/x HTTP/1.1 HTTP/1.1",
        "get /acme/x HTTP/1.1", "Get /acme/x HTTP/1.1", "gET /acme/x HTTP/1.1", "post /acme/x HTTP/1.1",
        "posT /acme/x HTTP/1.1", "put /acme/x HTTP/1.1", "head /acme/x HTTP/1.1", "delete /acme/x HTTP/1.1",
        "options /acme/x HTTP/1.1", "patch /acme/x HTTP/1.1", "trace /acme/x HTTP/1.1", "connect a:443 HTTP/1.1",
        "pri * HTTP/2.0", "G@T /acme/x HTTP/1.1", "G\u{80}T /acme/x HTTP/1.1", "G\0T /acme/x HTTP/1.1",
        "(GET) /acme/x HTTP/1.1", " /acme/x HTTP/1.1", "/acme/x HTTP/1.1", "GET /acme/x", "GET /acme/x ", "GET",
        "GET /acme/x http/1.1", "GET /acme/x Http/1.1", "GET /acme/x HTTP/1.10", "GET /acme/x HTTP/01.1",
        "GET /acme/x HTTP/1", "GET /acme/x HTTP/1.", "GET /acme/x HTTP/.1", "GET /acme/x HTTP/1,1",
        "GET /acme/x HTTP/1.x", "GET /acme/x HTTP/-1.1", "GET /acme/x HTTP 1.1", "GET /acme/x HTTP/1.1.1",
        "GET /acme/x RTSP/1.0", "GET /acme/x ICE/1.0", "GET /acme/x SIP/2.0", "GET /acme/x HTTPS/1.1",
        "GET /acme/x XTTP/1.1", "GET /acme/x 1.1", "\u{16}\u{3}\u{1}\0\u{5}", "SSH-2.0-OpenSSH",
    ]

    private static func many(_ count: Int, _ line: String = "X: canary") -> String {
        String(repeating: line + "\r\n", count: count)
    }

    private static func long(_ count: Int) -> String { String(repeating: "a", count: count) }

    private static let sizes: [HostileCase] = [
        .raw(
            .sizes,
            "201 fields",
            "GET /acme/x HTTP/1.1\r\nHost: a\r\n" + many(200) + "\r\n",
            .headTooLarge
        ),
        .raw(.sizes, "10,000 short fields", "GET /acme/x HTTP/1.1\r\nHost: a\r\n" + many(10_000, "a:"), .headTooLarge),
        .raw(
            .sizes,
            "a field of 16 KiB and a byte",
            "GET /acme/x HTTP/1.1\r\nHost: a\r\nX: \(long((16 << 10) - 2))\r\n\r\n",
            .headTooLarge
        ),
        .raw(
            .sizes,
            "a name of 16 KiB and a byte",
            "GET /acme/x HTTP/1.1\r\nHost: a\r\n\(long(16 << 10)):\r\n\r\n",
            .headTooLarge
        ),
        .raw(
            .sizes,
            "a head of 32 KiB and more",
            "GET /acme/x HTTP/1.1\r\nHost: a\r\n" + many(3, "X: \(long(11_000))") + "\r\n",
            .headTooLarge
        ),
        .raw(
            .sizes,
            "a head without end",
            "GET /acme/x HTTP/1.1\r\nHost: a\r\nX: \(long(40_000))",
            .headTooLarge
        ),
        .raw(
            .sizes,
            "a target of 8 KiB and a byte",
            "GET /acme/\(long((8 << 10) - 5)) HTTP/1.1\r\nHost: a\r\n\r\n",
            .targetTooLong
        ),
        .raw(
            .sizes,
            "a query of 8 KiB and more",
            "GET /acme/?\(long(9_000)) HTTP/1.1\r\nHost: a\r\n\r\n",
            .targetTooLong
        ),
        .raw(.sizes, "a request line without end", "GET /acme/\(long(40_000))", .targetTooLong),
        .raw(.sizes, "a method without end", long(40_000)),
        .passing(
            .requestLine,
            "HTTP/1.2",
            "GET /acme/x HTTP/1.2\r\nHost: a\r\n\r\n",
            PassedRequest("GET /v2/x")
        ),
        .passing(
            .sizes,
            "200 fields",
            "GET /acme/x HTTP/1.1\r\n" + many(199) + "Host: a\r\n\r\n",
            {
                var passed = PassedRequest("GET /v2/x")
                passed.fields = Array(repeating: "X: canary", count: 199)
                return passed
            }()
        ),
        .passing(
            .sizes,
            "a field of 16 KiB",
            "GET /acme/x HTTP/1.1\r\nHost: a\r\nX: \(long((16 << 10) - 3))\r\n\r\n",
            PassedRequest("GET /v2/x", "X: \(long((16 << 10) - 3))")
        ),
        .passing(
            .sizes,
            "a head of nearly 32 KiB",
            "GET /acme/x HTTP/1.1\r\nHost: a\r\nX: \(long(16_000))\r\nY: \(long(16_000))\r\n\r\n",
            PassedRequest("GET /v2/x", "X: \(long(16_000))", "Y: \(long(16_000))")
        ),
        .passing(
            .sizes,
            "a target of 8 KiB",
            "GET /acme/\(long((8 << 10) - 6)) HTTP/1.1\r\nHost: a\r\n\r\n",
            PassedRequest("GET /v2/\(long((8 << 10) - 6))")
        ),
    ]
}
