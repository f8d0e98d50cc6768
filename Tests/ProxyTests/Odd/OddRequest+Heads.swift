/// Methods, targets, hosts and fields.
extension OddRequest {
    static let methods: [OddRequest] = [
        .method("!#$%&'*+-.^_`|~09azAZ"), .method("PROPFIND"), .method("x"), .method("get-x"), .method("GETT"),
        .method("M-SEARCH"), .method("QUERY"), .method(String(repeating: "M", count: 40)),
        .method("HEAD"), .method("OPTIONS"), .method("DELETE"), .method("POST"),
        .method("PATCH"),
    ]

    static let targets: [OddRequest] = [
        .target("/acme/", "/v2/", "the route's path and no more"),
        .target("/acme/a%2Fb%2fc", "/v2/a%2Fb%2fc", "encoded slashes"),
        .target("/acme/%41%7e%2D/%e2%82%ac%F0%9F%90%A6", "/v2/%41%7e%2D/%e2%82%ac%F0%9F%90%A6", "encoded letters"),
        .target("/acme/m%FCller", "/v2/m%FCller", "encoded bytes that are no UTF-8"),
        .target("/acme/a;b=c;d/e;", "/v2/a;b=c;d/e;", "parameters"),
        .target("/acme/?", "/v2/?", "an empty query"),
        .target("/acme/x??a=?&/../b//;%zz%00\\", "/v2/x??a=?&/../b//;%zz%00\\", "an odd query"),
        .target("/acme/?\(long(8_000))", "/v2/?\(long(8_000))", "a very long query"),
        .target("/acme/a//b///", "/v2/a//b///", "empty segments"),
        .target("/acme/.a/..b/c./d../...", "/v2/.a/..b/c./d../...", "dots that are no dot segments"),
        .target("/acme/a:b@c!$&'()*+,=~\"<>^`{|}[]", "/v2/a:b@c!$&'()*+,=~\"<>^`{|}[]", "every other character"),
        .target("/acme/%25%32%65", "/v2/%25%32%65", "what is a dot when decoded twice"),
        .target("http://a/acme/x?y", "/v2/x?y", "an absolute target"),
        .target("HTTP://A/acme/x", "/v2/x", "an absolute target in capitals"),
        .target("http://a?x=/", "/?x=/", "an absolute target without a path"),
        .target("/%61%63me/x", "/v2/x", "an encoded route"),
        .target("/kept/x?y", "/v3/kept/x?y", "a path that is kept"),
        .target("/%6Bept/x", "/v3/%6Bept/x", "an encoded path that is kept"),
        OddRequest(
            "OPTIONS *",
            "OPTIONS * HTTP/1.1\r\nHost: a\r\nMax-Forwards: 1\r\n\r\n",
            arrives: PassedRequest("OPTIONS *", "Max-Forwards: 0")
        ),
    ]

    static let fieldLines: [OddRequest] = [
        .fields("names in lower case", ["accept: x/y", "user-agent: z", "if-none-match: \"a\""]),
        .fields("names in mixed case", ["ACCEPT: a", "aCCEPT-lANGUAGE: b", "X-camelCase: c"]),
        .fields("repeated fields in their order", ["A: 1", "B: 1", "a: 2", "A: 1", "B: 2", "A: 3", "b: 1"]),
        .fields("empty values", ["X:", "Y: ", "Z:  \t ", "X:"]),
        .fields("white space around values", ["X:y", "X:  y", "X:\ty\t ", "X: a  b\tc"]),
        .fields(
            "all bytes above 0x7F",
            ["X: " + String(String.UnicodeScalarView((0x80...0xFF).map { Unicode.Scalar(UInt8($0)) }))]
        ),
        .fields(
            "quotes, colons, commas",
            ["X: :a: \"b, \\\"c\" ; d,,", "Referer: http://b:80/?x#y", "Y: =?utf-8?q?z?="]
        ),
        .fields("every character of a name", ["!#$%&'*+-.^_`|~09azAZ: b", "1: 2", "-: -", "_: _"]),
        .fields(
            "names that only resemble known ones",
            [
                "Hos: t", "Hostt: b", "Content-Lengths: 1", "XContent-Length: 2", "Transfer-Encodings: chunked",
                "Keep-Alives: 1", "Authorizations: b", "Martlet: c", "Martle-Key: d", "X-Forwarded: e", "TEE: f",
                "Upgrade-Insecure-Requests: 1", "Proxy-Authorizations: g", "X-Real-IPs: h",
            ]
        ),
        .fields(
            "ids and keys that belong to the upstream",
            ["client_id: 1", "api_key: 2", "X_Y-Z_: 3", "Set_Cookie: 4"]
        ),
        .fields("conditions and ranges", ["Range: bytes=0-1,-5", "If-Match: *", "If-Range: W/\"x\"", "Early-Data: 1"]),
        .fields("a chain of gateways before this one", ["Via: 1.0 fred, 1.1 b (c)", "via: HTTP/2 d"]),
        .fields("what describes no body", ["Content-Type: a/b; c=\"d\"", "Content-Encoding: gzip", "Digest: x"]),
        .fields("a date and a sender", ["Date: Thu, 01 Jan 1970 00:00:00 GMT", "From: a@b", "Priority: u=1, i"]),
        .fields("99 fields", Array(repeating: "X: y", count: 99)),
        .fields("a long value", ["X: " + long(16_000)]),
    ]

    static let hosts: [OddRequest] = ["LocalHost:8080", "127.0.0.1", "127.1.2.3:1", "[::1]:80", "A", "a:0080"].map {
        host in
        OddRequest(
            "Host \(host)",
            "GET /acme/x HTTP/1.1\r\nX: y\r\nhost:\(host) \r\nY: z\r\n\r\n",
            arrives: PassedRequest("GET /v2/x", "X: y", "Y: z")
        )
    }

    static func long(_ count: Int) -> String { String(repeating: "a", count: count) }
}
