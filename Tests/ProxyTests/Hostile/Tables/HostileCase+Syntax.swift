import Proxy

/// Field lines and line ends (RFC 9112 §2.2, §5).
extension HostileCase {
    static let syntax: [HostileCase] = fieldSyntax + lineEnds + controls + underscores + passedValues + refusedValues

    private static let fieldSyntax: [HostileCase] = [
        .fields(.fieldSyntax, "X: y", " z"),
        .fields(.fieldSyntax, "X: y", "\tz"),
        .fields(.fieldSyntax, "X: y", "  Content-Length: 3"),
        .fields(.fieldSyntax, "X: y", " "),
        .fields(.fieldSyntax, "X:", " y"),
        .head(.fieldSyntax, "GET /acme/x HTTP/1.1", " Host: a"),
        .head(.fieldSyntax, "GET /acme/x HTTP/1.1", "\tHost: a"),
        .head(.fieldSyntax, "GET /acme/x HTTP/1.1", " ", "Host: a"),
        .head(.fieldSyntax, "GET /acme/x HTTP/1.1", " X: y", "Host: a"),
        .fields(.fieldSyntax, "Xy"),
        .fields(.fieldSyntax, "X y"),
        .fields(.fieldSyntax, "GET /acme/smuggled HTTP/1.1"),
        .fields(.fieldSyntax, ": y"),
        .fields(.fieldSyntax, ":"),
        .fields(.fieldSyntax, "X : y"),
        .fields(.fieldSyntax, "X\t: y"),
        .fields(.fieldSyntax, "Content-Length : 3"),
        .fields(.fieldSyntax, "Authorization : Bearer canary"),
        .fields(.fieldSyntax, "X Y: z"),
        .head(.fieldSyntax, "GET /acme/x HTTP/1.1", "Host : a"),
    ]

    private static let lineEnds: [HostileCase] = brokenLines.map { .raw(.lineEnds, $0.debugDescription, $0) }

    private static let brokenLines: [String] = [
        "GET /acme/x HTTP/1.1\nHost: a\r\n\r\n", "GET /acme/x HTTP/1.1\r\nHost: a\n\r\n",
        "GET /acme/x HTTP/1.1\r\nHost: a\r\n\n", "GET /acme/x HTTP/1.1\nHost: a\n\n",
        "GET /acme/x HTTP/1.1\n\rHost: a\n\r\n\r", "GET /acme/x HTTP/1.1\r\nHost: a\r\nX: y\nZ: 1\r\n\r\n",
        "GET /acme/x HTTP/1.1\r\nHost: a\r\nX:\n y\r\n\r\n", "\nGET /acme/x HTTP/1.1\r\nHost: a\r\n\r\n",
        "\n\nGET /acme/x HTTP/1.1\r\nHost: a\r\n\r\n", "\rGET /acme/x HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\rGET /acme/x HTTP/1.1\r\nHost: a\r\n\r\n", "GET /acme/x HTTP/1.1\rHost: a\r\n\r\n",
        "GET /acme/x\r HTTP/1.1\r\nHost: a\r\n\r\n", "GET /acme/a\rb HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /acme/x HTTP/1.1\r\nHost: a\r\nX: y\rz\r\n\r\n", "GET /acme/x HTTP/1.1\r\nHost: a\r\nX\r: y\r\n\r\n",
        "GET /acme/x HTTP/1.1\r\nHost: a\r\nX:\ry\r\n\r\n", "GET /acme/x HTTP/1.1\r\nHost: a\r\n\rX: y\r\n\r\n",
        "GET /acme/x HTTP/1.1\r\nHost: a\rX: y\r\n\r\n", "GET /acme/x HTTP/1.1\r\r\nHost: a\r\n\r\n",
        "GET /acme/x HTTP/1.1\r\nHost: a\r\r\n\r\n", "GET /acme/x HTTP/1.1\r\nHost: a\r\n\r\r\n",
        "\r\n\r\nGET /acme/x HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /acme/x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /acme/x HTTP/1.1\r\nHost: a\r\nX: y\n\nGET /acme/smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
    ]

    private static let controlBytes: [String] = (0...0x7F).compactMap { (byte: UInt8) -> String? in
        let isControl = byte < 0x20 || byte == 0x7F
        return isControl && ![0x09, 0x0A, 0x0D].contains(byte) ? String(Unicode.Scalar(byte)) : nil
    }

    private static let controls: [HostileCase] =
        controlBytes.flatMap { byte -> [HostileCase] in
            [
                .fields(.controls, "X: a\(byte)b"), .fields(.controls, "X\(byte)Y: z"),
                .fields(.controls, "\(byte)X: y"), .fields(.controls, "X: y\(byte)"),
            ]
        } + delimiters.map { HostileCase.fields(.controls, "X\($0)Y: z") }

    /// Characters that no field name contains.
    private static let delimiters: [String] = [
        "(", ")", "<", ">", "@", ",", ";", "\\", "\"", "/", "[", "]", "?", "=", "{", "}", "\u{80}", "\u{E9}", "\u{FF}",
    ]

    private static let underscores: [HostileCase] = [
        .fields(.underscores, "Content_Length: 3"), .fields(.underscores, "content_length: 3", "Content-Length: 3"),
        .fields(.underscores, "Transfer_Encoding: chunked"), .fields(.underscores, "X_Forwarded_For: 1.2.3.4"),
        .fields(.underscores, "X-Forwarded_For: 1.2.3.4"), .fields(.underscores, "X_REAL_IP: 1.2.3.4"),
        .fields(.underscores, "X_Original_URL: /admin"), .fields(.underscores, "X_Rewrite_URL: /admin"),
        .fields(.underscores, "X_HTTP_Method_Override: DELETE"), .fields(.underscores, "X_HTTP_Method: DELETE"),
        .fields(.underscores, "X_Method_Override: DELETE"), .fields(.underscores, "Martlet_Account: bob"),
        .fields(.underscores, "MARTLET_KEY: canary"), .fields(.underscores, "Martlet-Any_thing: x"),
        .fields(.underscores, "Proxy_Authorization: Basic canary"), .fields(.underscores, "HTTP2_Settings: x"),
        .fields(.underscores, "Keep_Alive: 1"), .fields(.underscores, "Sec_Fetch_Site: none"),
        .passing(
            .underscores,
            "names that are nobody's but the upstream's",
            """
            GET /acme/x HTTP/1.1\r
            client_id: 1\r
            Host: a\r
            api_key: 2\r
            _: 3\r
            AUTHORIZATION_: 4\r
            __proto__: 5\r
            Content_Type: x/y\r
            \r

            """,
            PassedRequest(
                "GET /v2/x",
                "client_id: 1",
                "api_key: 2",
                "_: 3",
                "AUTHORIZATION_: 4",
                "__proto__: 5",
                "Content_Type: x/y"
            )
        ),
    ]

    private static func value(_ line: String) -> HostileCase {
        .passing(
            .highBytes,
            line.debugDescription,
            "GET /acme/x HTTP/1.1\r\nHost: a\r\n\(line)\r\n\r\n",
            PassedRequest("GET /v2/x", line)
        )
    }

    private static let passedValues: [HostileCase] = [
        value("X: \u{80}"), value("X: \u{FF}"), value("X: caf\u{E9}"), value("X: caf\u{C3}\u{A9}"),
        value("Cookies: a=\u{80}\u{FF}; b"), value("X:\u{A0}y\u{A0}"), value("X: \u{C0}\u{AE}"),
        value("Content-Type: text/\u{85}"),
    ]

    private static let refusedValues: [HostileCase] = [
        .head(.highBytes, "GET /acme/x HTTP/1.1", "Host: a\u{80}"),
        .head(.highBytes, "GET /acme/x HTTP/1.1", "Host: \u{FF}"),
        .head(.highBytes, "GET /acme/x HTTP/1.1", "Host: caf\u{C3}\u{A9}.example"),
        .fields(.highBytes, "Authorization: Bearer \u{80}"),
        .fields(.highBytes, "authorization: \u{FF}"),
        .fields(.highBytes, "Content-Length: 3\u{80}"),
        .fields(.highBytes, "Content-Length: \u{FF}"),
        .fields(.highBytes, "Transfer-Encoding: chunked\u{FF}"),
        .fields(.highBytes, "Transfer-Encoding: \u{80}chunked"),
        .fields(.highBytes, "Transfer-Encoding: g\u{FC}nzip"),
        .fields(.highBytes, "Martlet-Key: \u{FF}"),
        .fields(.highBytes, "Martlet-Account: ren\u{E9}"),
        .fields(.highBytes, "martlet-anything: \u{80}"),
        .fields(.highBytes, "Connection: close\u{80}"),
        .fields(.highBytes, "Connection: \u{FF}"),
    ]
}
