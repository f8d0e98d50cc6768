import Proxy

/// Connection-specific fields (RFC 9110 §7.6.1), and several requests on one connection.
extension HostileCase {
    static let connection: [HostileCase] = options + hopByHop + upgrades + pipelines

    private static let options: [HostileCase] =
        protected.map { .fields(.connectionOptions, "Connection: \($0)") } + oddOptions

    private static let protected: [String] = [
        "authorization", "Authorization", "close, AUTHORIZATION", "host", "HOST", "content-length",
        "transfer-encoding", "Transfer-Encoding, close", "martlet-key", "Martlet-Account", "martlet-anything",
        "expect", "content-type", "content-encoding", "cookie", "via", "keep-alive,authorization",
        ",,host,,",
    ]

    private static let oddOptions: [HostileCase] = [
        .fields(.connectionOptions, "Connection: authorization", "Authorization: Bearer canary"),
        .fields(.connectionOptions, "Authorization: Bearer canary", "connection:authorization"),
        .fields(.connectionOptions, "Connection: close", "Connection: host"),
        .fields(.connectionOptions, "Connection: content-length", "Content-Length: 3"),
        .fields(.connectionOptions, "Connection: transfer-encoding", "Transfer-Encoding: chunked"),
        .fields(.connectionOptions, "Connection: keep alive"), .fields(.connectionOptions, "Connection: \"close\""),
        .fields(.connectionOptions, "Connection: a=b"), .fields(.connectionOptions, "Connection: a;b"),
        .fields(
            .connectionOptions,
            "Connection: " + Array(repeating: "x", count: 65).joined(separator: ",")
        ),
    ]

    private static func get(_ row: HostileRow, _ name: String, _ lines: [String], _ passed: PassedRequest...)
        -> HostileCase
    {
        HostileCase(
            row: row,
            name: name,
            request: "GET /acme/x HTTP/1.1\r\nHost: a\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n",
            outcome: .credentials(passed)
        )
    }

    private static let hopByHop: [HostileCase] = [
        get(
            .hopByHop,
            "each of them",
            [
                "Keep-Alive: timeout=5", "keep-alive: x", "Proxy-Connection: keep-alive", "TE: trailers, gzip",
                "HTTP2-Settings: AAMAAABk", "Proxy-Authorization: Basic canary", "Proxy-Authenticate: Basic",
                "Trailer: X", "Connection: keep-alive", "Accept: b",
            ],
            PassedRequest("GET /v2/x", "Trailer: X", "Accept: b")
        ),
        get(
            .hopByHop,
            "what Connection names, before and behind it, in any case",
            ["X-A: 1", "Connection: x-a ,, X-B,", "x-b: 2", "X-AB: 3", "connection: X-C", "X-c: 4", "x-A: 5"],
            PassedRequest("GET /v2/x", "X-AB: 3")
        ),
        get(
            .hopByHop,
            "Connection that names nothing",
            ["Connection:", "Connection: ,", "X: y"],
            PassedRequest("GET /v2/x", "X: y")
        ),
        get(
            .hopByHop,
            "Connection that names the others",
            ["Connection: TE, Keep-Alive, Upgrade, HTTP2-Settings, Trailer", "TE: x", "Keep-Alive: 1", "X: y"],
            PassedRequest("GET /v2/x", "X: y")
        ),
        get(
            .hopByHop,
            "Connection that names what tells of the caller",
            ["Connection: X-Forwarded-For, Forwarded", "X-Forwarded-For: b", "Forwarded: c", "X: y"],
            PassedRequest("GET /v2/x", "X: y")
        ),
    ]

    private static let upgrades: [HostileCase] = [
        get(
            .upgrade,
            "h2c",
            ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk", "X: y"],
            PassedRequest("GET /v2/x", "X: y")
        ),
        get(.upgrade, "h2c that Connection does not name", ["Upgrade: h2c"], PassedRequest("GET /v2/x")),
        get(
            .upgrade,
            "TLS/1.0, HTTP/2.0",
            ["upgrade: TLS/1.0, HTTP/2.0", "connection: UPGRADE"],
            PassedRequest("GET /v2/x")
        ),
        .passing(
            .upgrade,
            "h2c with a body",
            """
            POST /acme/x HTTP/1.1\r
            Host: a\r
            Connection: upgrade\r
            Upgrade: h2c\r
            Content-Length: 24\r
            \r
            PRI * HTTP/2.0\r
            \r
            SM\r
            \r

            """,
            PassedRequest(
                "POST /v2/x",
                framing: "Content-Length: 24",
                body: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
            )
        ),
    ]

    private static let pipelines: [HostileCase] = [
        .passing(
            .pipelines,
            "two, answered in order",
            "GET /acme/1 HTTP/1.1\r\nHost: a\r\n\r\nGET /acme/2 HTTP/1.1\r\nHost: a\r\n\r\n",
            PassedRequest("GET /v2/1"),
            PassedRequest("GET /v2/2")
        ),
        .passing(
            .pipelines,
            "bodies between them, and an empty line",
            "POST /acme/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
                + "\r\nPUT /acme/2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ndef\r\n0\r\n\r\n"
                + "DELETE /acme/3 HTTP/1.1\r\nHost: a\r\n\r\n",
            PassedRequest("POST /v2/1", framing: "Content-Length: 3", body: "abc"),
            PassedRequest("PUT /v2/2", framing: "Transfer-Encoding: chunked", body: "def"),
            PassedRequest("DELETE /v2/3")
        ),
        .passing(
            .pipelines,
            "a request behind Connection: close",
            "GET /acme/1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /acme/2 HTTP/1.1\r\nHost: a\r\n\r\n",
            PassedRequest("GET /v2/1")
        ),
        .passing(
            .pipelines,
            "nonsense behind Connection: close",
            "POST /acme/1 HTTP/1.1\r\nHost: a\r\nConnection: CLOSE\r\nContent-Length: 1\r\n\r\na\0\r\r\n\n nonsense",
            PassedRequest("POST /v2/1", framing: "Content-Length: 1", body: "a")
        ),
        .passing(
            .pipelines,
            "a request behind HTTP/1.0",
            "GET /acme/1 HTTP/1.0\r\n\r\nGET /acme/2 HTTP/1.0\r\n\r\n",
            PassedRequest("GET /v2/1", version: "1.0")
        ),
    ]
}
