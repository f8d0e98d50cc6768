import HTTPWire
import Testing

/// A request that the parser must accept, and the values it must read.
struct AcceptedRequest: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    var method = HTTPMethod.get
    var path = "/"
    var query = ""
    var host = "a"
    var hostName = "a"
    var body = BodyFraming.none
    var minorVersion: UInt8 = 1
    var keepsAlive = true
    var expectsContinue = false
    /// The field lines that may go upstream.
    var passing: [String] = []

    var testDescription: String { self.name }

    init(_ name: String, _ lines: String..., with change: (inout AcceptedRequest) -> Void = { _ in }) {
        self.name = name
        self.bytes = HTTPWireTests.head(lines)
        change(&self)
    }

    /// A GET for `target`.
    static func target(_ target: String, path: String, query: String = "") -> AcceptedRequest {
        AcceptedRequest("target \(target)", "GET \(target) HTTP/1.1", "Host: a") {
            $0.path = path
            $0.query = query
        }
    }

    /// A POST with one extra field line.
    static func field(_ name: String, _ line: String, with change: (inout AcceptedRequest) -> Void) -> AcceptedRequest {
        var request = AcceptedRequest(name, "POST / HTTP/1.1", "Host: a", line)
        request.method = .post
        change(&request)
        return request
    }

    static func host(_ host: String, name: String) -> AcceptedRequest {
        AcceptedRequest("Host \(host)", "GET / HTTP/1.1", "Host: \(host)") {
            $0.host = host
            $0.hostName = name
        }
    }

    static let all = methods + framing + targets + hosts + fields + versions
}

extension AcceptedRequest {
    static let methods: [AcceptedRequest] =
        methodNames.map { name, method in
            AcceptedRequest("method \(name)", "\(name) / HTTP/1.1", "Host: a") { $0.method = method }
        } + [
            AcceptedRequest("OPTIONS *", "OPTIONS * HTTP/1.1", "Host: a") {
                $0.method = .options
                $0.path = ""
            }
        ]

    private static let methodNames: [(String, HTTPMethod)] = [
        ("GET", .get), ("HEAD", .head), ("POST", .post), ("PUT", .put), ("DELETE", .delete), ("OPTIONS", .options),
        ("PATCH", .patch), ("PURGE", .other), ("PROPFIND", .other), ("get-x", .other), ("QUERY", .other), ("x", .other),
        ("!#$%&'*+-.^_`|~09azAZ", .other), ("GETT", .other), ("GE", .other), ("PUS", .other), ("PRX", .other),
        ("CONNECTS", .other), ("foo", .other),
    ]

    static let framing: [AcceptedRequest] = lengthsAndCodings + bodies

    private static let lengthsAndCodings: [AcceptedRequest] = [
        .field("length 3", "Content-Length: 3") { $0.body = .length(3) },
        .field("length 003", "Content-Length: 003") { $0.body = .length(3) },
        .field("length with spaces around", "Content-Length:   3  ") { $0.body = .length(3) },
        .field("length with tabs around", "Content-Length:\t 3 \t") { $0.body = .length(3) },
        .field("length without a space", "content-length:12") { $0.body = .length(12) },
        .field("length 0", "Content-Length: 0") { $0.body = .length(0) },
        .field("length 000", "Content-Length: 000") { $0.body = .length(0) },
        .field("18 digits with zeros", "Content-Length: 000000000000000009") { $0.body = .length(9) },
        .field("18 digits", "Content-Length: 999999999999999999") { $0.body = .length(999_999_999_999_999_999) },
        .field("chunked", "Transfer-Encoding: chunked") { $0.body = .chunked },
        .field("CHUNKED", "Transfer-Encoding: CHUNKED") { $0.body = .chunked },
        .field("chunked behind empty elements", "Transfer-Encoding: , ,chunked") { $0.body = .chunked },
        .field("chunked before empty elements", "Transfer-Encoding: chunked ,,") { $0.body = .chunked },
        .field("chunked with spaces around", "TRANSFER-ENCODING: \t chunked  ") { $0.body = .chunked },
        .field("POST without a body", "X: y") { $0.passing = ["X: y"] },
    ]

    /// Any method may have a body.
    private static let bodies: [AcceptedRequest] = [
        ("GET", HTTPMethod.get), ("HEAD", .head), ("DELETE", .delete), ("OPTIONS", .options), ("LOCK", .other),
    ].flatMap { name, method in
        [
            AcceptedRequest("\(name) with a length", "\(name) / HTTP/1.1", "Host: a", "Content-Length: 3") {
                $0.method = method
                $0.body = .length(3)
            },
            AcceptedRequest("\(name), chunked", "\(name) / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked") {
                $0.method = method
                $0.body = .chunked
            },
        ]
    }

    static let targets: [AcceptedRequest] =
        plainTargets.map { AcceptedRequest.target($0, path: $1, query: $2) } + [
            AcceptedRequest("target HTTP://A/b", "GET HTTP://A/b HTTP/1.1", "Host: a") {
                $0.path = "/b"
                $0.host = "A"
                $0.hostName = "A"
            }
        ]

    private static let plainTargets: [(target: String, path: String, query: String)] = [
        ("/?x", "/", "?x"),
        ("/a/b?c=d&e=%zz", "/a/b", "?c=d&e=%zz"),
        ("/?", "/", "?"),
        ("/?/../..//?%00\\;%", "/", "?/../..//?%00\\;%"),
        ("/a%2Fb", "/a%2Fb", ""),
        ("/a%2f%5Cb/c", "/a%2f%5Cb/c", ""),
        ("/%2Fb", "/%2Fb", ""),
        ("/a//b///c/", "/a//b///c/", ""),
        ("/.well-known/x", "/.well-known/x", ""),
        ("/...", "/...", ""),
        ("/a/...;x/b", "/a/...;x/b", ""),
        ("/a/..b/.c/d../e.", "/a/..b/.c/d../e.", ""),
        ("/;a=b/c;d", "/;a=b/c;d", ""),
        ("/a;x=../b", "/a;x=../b", ""),
        ("/%25%32%65", "/%25%32%65", ""),
        ("/%252e%252e/", "/%252e%252e/", ""),
        ("/%C3%A9%e2%82%ac%F0%9F%90%A6", "/%C3%A9%e2%82%ac%F0%9F%90%A6", ""),
        ("/m%FCller/%E0propos", "/m%FCller/%E0propos", ""),
        // Unescaped UTF-8: é, €, 🐦, and the first and the last character of each length.
        ("/\u{C3}\u{A9}?\u{E2}\u{82}\u{AC}", "/\u{C3}\u{A9}", "?\u{E2}\u{82}\u{AC}"),
        ("/\u{F0}\u{9F}\u{90}\u{A6}/x", "/\u{F0}\u{9F}\u{90}\u{A6}/x", ""),
        (
            "/\u{C2}\u{A0}\u{DF}\u{BF}\u{E0}\u{A0}\u{80}\u{ED}\u{9F}\u{BF}\u{EE}\u{80}\u{80}",
            "/\u{C2}\u{A0}\u{DF}\u{BF}\u{E0}\u{A0}\u{80}\u{ED}\u{9F}\u{BF}\u{EE}\u{80}\u{80}", ""
        ),
        ("/\u{F0}\u{90}\u{80}\u{80}\u{F4}\u{8F}\u{BF}\u{BF}", "/\u{F0}\u{90}\u{80}\u{80}\u{F4}\u{8F}\u{BF}\u{BF}", ""),
        ("/%20%3f%23", "/%20%3f%23", ""),
        ("/a:b@c!$&'()*+,=~\"<>^`{|}[]", "/a:b@c!$&'()*+,=~\"<>^`{|}[]", ""),
        ("http://a/b?c", "/b", "?c"),
        ("https://a/", "/", ""),
        ("http://a", "", ""),
        ("http://a?x=/", "", "?x=/"),
        ("http://a/%2Fb//c", "/%2Fb//c", ""),
    ]

    static let hosts: [AcceptedRequest] = [
        .host("a.example", name: "a.example"),
        .host("a.example:8080", name: "a.example"),
        .host("A-b_c~d.", name: "A-b_c~d."),
        .host("127.0.0.1:1", name: "127.0.0.1"),
        .host("a:65535", name: "a"),
        .host("a:0080", name: "a"),
        .host("1234", name: "1234"),
        .host("[::1]", name: "[::1]"),
        .host("[::1]:80", name: "[::1]"),
        .host("[::ffff:1.2.3.4]:80", name: "[::ffff:1.2.3.4]"),
        AcceptedRequest("another host in the target, which counts", "GET http://b/x HTTP/1.1", "Host: a") {
            $0.path = "/x"
            $0.host = "b"
            $0.hostName = "b"
        },
        AcceptedRequest("another port in the target, which counts", "GET http://a:81/ HTTP/1.1", "Host: a:80") {
            $0.host = "a:81"
        },
        AcceptedRequest("an absolute target in other case", "GET http://B.example:80/x HTTP/1.1", "Host: b.EXAMPLE:80")
        {
            $0.path = "/x"
            $0.host = "B.example:80"
            $0.hostName = "B.example"
        },
    ]

    static let fields: [AcceptedRequest] = [
        AcceptedRequest(
            "repeated fields in their order",
            "GET / HTTP/1.1",
            "Accept: a",
            "X-A: 1",
            "Host: a",
            "accept: b",
            "X-A: 1",
            "X-B:"
        ) { $0.passing = ["Accept: a", "X-A: 1", "accept: b", "X-A: 1", "X-B: "] },
        AcceptedRequest("bytes above 0x7F", "GET / HTTP/1.1", "Host: a", "X: \u{80}\u{FF}caf\u{E9}", "Y: a\tb") {
            $0.passing = ["X: \u{80}\u{FF}caf\u{E9}", "Y: a\tb"]
        },
        AcceptedRequest(
            "odd field names",
            "GET / HTTP/1.1",
            "Host: a",
            "!#$%&'*+-.^`|~09azAZ: b",
            "1: 2",
            "Hos: t",
            "Content-Lengths: 1",
            "XContent-Length: 2"
        ) { $0.passing = ["!#$%&'*+-.^`|~09azAZ: b", "1: 2", "Hos: t", "Content-Lengths: 1", "XContent-Length: 2"] },
        AcceptedRequest(
            "colons and quotes in values",
            "GET / HTTP/1.1",
            "Host: a",
            "X: :a: \"b, c\" ; d",
            "Referer: http://b:80/?x"
        ) { $0.passing = ["X: :a: \"b, c\" ; d", "Referer: http://b:80/?x"] },
        AcceptedRequest("white space around values", "GET / HTTP/1.1", "Host:\ta \t", "X:\t \tb c\t ", "Y: \t ") {
            $0.passing = ["X: b c", "Y: "]
        },
        AcceptedRequest(
            "fields of the connection",
            "GET / HTTP/1.1",
            "Host: a",
            "Connection: keep-alive, TE",
            "Keep-Alive: timeout=5",
            "Proxy-Connection: keep-alive",
            "TE: trailers",
            "Trailer: X",
            "HTTP2-Settings: AAMAAABk",
            "Proxy-Authorization: Basic x",
            "Proxy-Authenticate: Basic",
            "Accept: b"
        ) { $0.passing = ["Trailer: X", "Accept: b"] },
        AcceptedRequest(
            "fields that Connection names",
            "GET / HTTP/1.1",
            "X-A: 1",
            "Host: a",
            "Connection: x-a ,, X-B,",
            "x-b: 2",
            "X-AB: 3",
            "connection: X-C",
            "X-c: 4",
            "X-A: 5",
            "Accept: b"
        ) { $0.passing = ["X-AB: 3", "Accept: b"] },
        AcceptedRequest(
            "credentials and the caller's address",
            "GET / HTTP/1.1",
            "Host: a",
            "Authorization: Basic eDp5",
            "Martlet-Key: k",
            "martlet-account: b",
            "Martlet-X: c",
            "Martlet-: d",
            "Forwarded: for=1.2.3.4",
            "X-Forwarded-For: 1.2.3.4",
            "x-forwarded-host: h",
            "X-Forwarded-Anything: z",
            "X-Forwarded-: z",
            "X-Real-IP: 1.2.3.4",
            "X-Original-URL: /admin",
            "X-Rewrite-URL: /admin",
            "X-HTTP-Method-Override: PUT",
            "Cookie: c=d",
            "Via: 1.1 b"
        ) { $0.passing = ["X-HTTP-Method-Override: PUT", "Cookie: c=d", "Via: 1.1 b"] },
        AcceptedRequest(
            "underscores in names that are nobody's but the upstream's",
            "GET / HTTP/1.1",
            "client_id: 1",
            "Host: a",
            "API_key: 2",
            "_: 3",
            "X_Y_: 4",
            "Content_Type: x/y",
            "Set_Cookie: a=b",
            "Authorization_: 5",
            "Hos_t: 6",
            "__proto__: 7"
        ) {
            $0.passing = [
                "client_id: 1", "API_key: 2", "_: 3", "X_Y_: 4", "Content_Type: x/y", "Set_Cookie: a=b",
                "Authorization_: 5", "Hos_t: 6", "__proto__: 7",
            ]
        },
        AcceptedRequest("Expect", "PUT / HTTP/1.1", "Host: a", "Expect: 100-Continue", "Content-Length: 3") {
            $0.method = .put
            $0.body = .length(3)
            $0.expectsContinue = true
        },
        AcceptedRequest("Connection: close", "GET / HTTP/1.1", "Host: a", "Connection: Close") {
            $0.keepsAlive = false
        },
        AcceptedRequest(
            "close wins over keep-alive",
            "GET / HTTP/1.1",
            "Host: a",
            "Connection: keep-alive",
            "Connection: x, close"
        ) {
            $0.keepsAlive = false
        },
        AcceptedRequest("empty Connection", "GET / HTTP/1.1", "Host: a", "Connection:", "Connection: ,", "X: y") {
            $0.passing = ["X: y"]
        },
        AcceptedRequest(
            "64 Connection options",
            "GET / HTTP/1.1",
            "Host: a",
            "Connection: " + Array(repeating: "x", count: 64).joined(separator: ","),
            "X: y",
            "Y: z"
        ) { $0.passing = ["Y: z"] },
        AcceptedRequest("an Upgrade that Connection does not name", "GET / HTTP/1.1", "Host: a", "Upgrade: h2c", "X: y")
        {
            $0.passing = ["X: y"]
        },
    ]

    static let versions: [AcceptedRequest] = [
        AcceptedRequest("HTTP/1.2", "GET / HTTP/1.2", "Host: a") { _ in },
        AcceptedRequest("HTTP/1.9", "GET / HTTP/1.9", "Host: a") { _ in },
        AcceptedRequest("HTTP/1.0", "GET / HTTP/1.0", "Host: a") {
            $0.minorVersion = 0
            $0.keepsAlive = false
        },
        AcceptedRequest("HTTP/1.0 without Host", "GET / HTTP/1.0", "X: y") {
            $0.minorVersion = 0
            $0.keepsAlive = false
            $0.host = ""
            $0.hostName = ""
            $0.passing = ["X: y"]
        },
        AcceptedRequest("HTTP/1.0 without fields", "GET / HTTP/1.0") {
            $0.minorVersion = 0
            $0.keepsAlive = false
            $0.host = ""
            $0.hostName = ""
        },
        AcceptedRequest(
            "HTTP/1.0 that stays",
            "POST / HTTP/1.0",
            "Host: a",
            "Connection: Keep-Alive",
            "Content-Length: 3"
        ) {
            $0.method = .post
            $0.minorVersion = 0
            $0.body = .length(3)
        },
        AcceptedRequest("HTTP/1.0 with Expect", "POST / HTTP/1.0", "Expect: 100-continue", "Content-Length: 3") {
            $0.method = .post
            $0.minorVersion = 0
            $0.keepsAlive = false
            $0.host = ""
            $0.hostName = ""
            $0.body = .length(3)
        },
        AcceptedRequest("HTTP/1.0 with an absolute target and no Host", "GET http://b/ HTTP/1.0") {
            $0.minorVersion = 0
            $0.keepsAlive = false
            $0.host = "b"
            $0.hostName = "b"
        },
    ]
}
