import HTTPWire
import Testing

/// A hostile request from a caller, and the code of its refusal.
struct RefusedRequest: Sendable, CustomTestStringConvertible {
    let name: String
    let code: Refusal
    let bytes: [UInt8]

    var testDescription: String { self.name }

    static func head(_ name: String, _ code: Refusal = .badRequest, _ lines: String...) -> RefusedRequest {
        RefusedRequest(name: name, code: code, bytes: HTTPWireTests.head(lines))
    }

    /// A request that is valid except for one or more field lines.
    static func fields(_ name: String, _ code: Refusal = .badRequest, _ lines: String...) -> RefusedRequest {
        RefusedRequest(name: name, code: code, bytes: HTTPWireTests.head(["POST / HTTP/1.1", "Host: a"] + lines))
    }

    /// A request that is valid except for its first line.
    static func line(_ name: String, _ code: Refusal = .badRequest, _ line: String) -> RefusedRequest {
        RefusedRequest(name: name, code: code, bytes: HTTPWireTests.head([line, "Host: a"]))
    }

    /// A request that is valid except for its target.
    static func target(_ target: String) -> RefusedRequest {
        .line("target \(target.debugDescription)", .badRequest, "GET \(target) HTTP/1.1")
    }

    /// A request that is valid except for its `Host`.
    static func host(_ value: String) -> RefusedRequest {
        .head("Host \(value.debugDescription)", .badRequest, "GET / HTTP/1.1", "Host: \(value)")
    }

    /// A request whose bytes are exactly `text`.
    static func raw(_ name: String, _ code: Refusal = .badRequest, _ text: String) -> RefusedRequest {
        RefusedRequest(name: name, code: code, bytes: HTTPWireTests.bytes(text))
    }

    static let all =
        framing + methods + syntax + endings + hosts + targets + paths + lines + protected + lookalikes
}

extension RefusedRequest {
    static let framing: [RefusedRequest] = [
        .fields("length, then coding", .badRequest, "Content-Length: 3", "Transfer-Encoding: chunked"),
        .fields("coding, then length", .badRequest, "Transfer-Encoding: chunked", "Content-Length: 3"),
        .fields("coding, then length 0", .badRequest, "Transfer-Encoding: chunked", "Content-Length: 0"),
        .fields("coding and length, far apart", .badRequest, "content-length: 3", "X: y", "transfer-encoding: chunked"),
        .fields("two lengths", .badRequest, "Content-Length: 3", "Content-Length: 4"),
        .fields("two equal lengths", .badRequest, "Content-Length: 3", "Content-Length: 3"),
        .fields("length 3, 3", .badRequest, "Content-Length: 3, 3"),
        .fields("length 3,", .badRequest, "Content-Length: 3,"),
        .fields("length +3", .badRequest, "Content-Length: +3"),
        .fields("length -1", .badRequest, "Content-Length: -1"),
        .fields("length -0", .badRequest, "Content-Length: -0"),
        .fields("length 0x3", .badRequest, "Content-Length: 0x3"),
        .fields("length 3.0", .badRequest, "Content-Length: 3.0"),
        .fields("length 1e2", .badRequest, "Content-Length: 1e2"),
        .fields("length empty", .badRequest, "Content-Length:"),
        .fields("length of spaces", .badRequest, "Content-Length:   "),
        .fields("length of 19 digits", .badRequest, "Content-Length: 9999999999999999999"),
        .fields("length of 19 digits that a word holds", .badRequest, "Content-Length: 1000000000000000000"),
        .fields("length of 20 digits", .badRequest, "Content-Length: 10000000000000000000"),
        .fields("length of 20 zeros", .badRequest, "Content-Length: 00000000000000000003"),
        .fields("length 2^64 + 3", .badRequest, "Content-Length: 18446744073709551619"),
        .fields("length 3 4", .badRequest, "Content-Length: 3 4"),
        .fields("length 3;", .badRequest, "Content-Length: 3;"),
        .fields("length \"3\"", .badRequest, "Content-Length: \"3\""),
        .fields("length with 0xB2", .badRequest, "Content-Length: 3\u{B2}"),
        .fields("coding gzip, chunked", .notImplemented, "Transfer-Encoding: gzip, chunked"),
        .fields("coding gzip", .badRequest, "Transfer-Encoding: gzip"),
        .fields("coding identity", .badRequest, "Transfer-Encoding: identity"),
        .fields("coding xchunked", .badRequest, "Transfer-Encoding: xchunked"),
        .fields("coding chunkedx", .badRequest, "Transfer-Encoding: chunkedx"),
        .fields("coding chunked;q=1", .badRequest, "Transfer-Encoding: chunked;q=1"),
        .fields("coding \"chunked\"", .badRequest, "Transfer-Encoding: \"chunked\""),
        .fields("coding chunked, chunked", .badRequest, "Transfer-Encoding: chunked, chunked"),
        .fields("coding chunked, gzip", .badRequest, "Transfer-Encoding: chunked, gzip"),
        .fields("coding of empty elements", .badRequest, "Transfer-Encoding: , ,"),
        .fields("coding empty", .badRequest, "Transfer-Encoding:"),
        .fields("coding with 0xFF", .badRequest, "Transfer-Encoding: chunked\u{FF}"),
        .fields("coding twice", .badRequest, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
        .fields("coding, then identity", .badRequest, "Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
        .fields("identity, then coding", .badRequest, "Transfer-Encoding: identity", "Transfer-Encoding: chunked"),
        .fields("coding behind VT", .badRequest, "Transfer-Encoding: \u{0B}chunked"),
        .fields("coding before FF", .badRequest, "Transfer-Encoding: chunked\u{0C}"),
        .head("coding in HTTP/1.0", .badRequest, "POST / HTTP/1.0", "Transfer-Encoding: chunked"),
        .head(
            "coding and length in HTTP/1.0",
            .badRequest,
            "POST / HTTP/1.0",
            "Transfer-Encoding: x",
            "Content-Length: 3"
        ),
    ]

    /// Names that an upstream may mistake for fields that the gateway sets, removes or decides by.
    static let lookalikes: [RefusedRequest] = [
        "Content_Length", "content_length", "Transfer_Encoding", "Keep_Alive", "Proxy_Connection", "HTTP2_Settings",
        "Proxy_Authorization", "PROXY_AUTHENTICATE", "Martlet_Key", "martlet_account", "Martlet_", "Martlet-Any_thing",
        "X_Forwarded_For", "X-Forwarded_Host", "x_forwarded-proto", "X_Forwarded_Any", "X-Forwarded-a_b", "X_Real_IP",
        "X_Original_URL", "X_Rewrite_URL", "X_HTTP_Method_Override", "X-HTTP-Method_Override", "X_HTTP_Method",
        "X_Method_Override", "Sec_Fetch_Site",
    ].map { .fields("the name \($0)", .badRequest, "X: y", "\($0): 3") }

    static let methods: [RefusedRequest] = [
        .line("TRACE", .methodNotAllowed, "TRACE / HTTP/1.1"),
        .line("TRACK", .methodNotAllowed, "TRACK / HTTP/1.1"),
        .line("track", .badRequest, "track / HTTP/1.1"),
        .line("CONNECT to an authority", .methodNotAllowed, "CONNECT a:443 HTTP/1.1"),
        .line("CONNECT to a path", .methodNotAllowed, "CONNECT / HTTP/1.1"),
        .line("get", .badRequest, "get / HTTP/1.1"),
        .line("Get", .badRequest, "Get / HTTP/1.1"),
        .line("posT", .badRequest, "posT / HTTP/1.1"),
        .line("options", .badRequest, "options * HTTP/1.1"),
        .line("trace", .badRequest, "trace / HTTP/1.1"),
        .line("connect", .badRequest, "connect a:443 HTTP/1.1"),
        .line("pri", .badRequest, "pri * HTTP/1.1"),
        .line("a method with @", .badRequest, "G@T / HTTP/1.1"),
        .line("a method with 0x80", .badRequest, "G\u{80}T / HTTP/1.1"),
        .line("a method with NUL", .badRequest, "G\0T / HTTP/1.1"),
        .line("no method", .badRequest, " / HTTP/1.1"),
        .raw("the HTTP/2 preface", .badRequest, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        .raw("the HTTP/2 preface in HTTP/1.1", .badRequest, "PRI * HTTP/1.1\r\nHost: a\r\n\r\n"),
    ]

    static let syntax: [RefusedRequest] = [
        .fields("folded with a space", .badRequest, "X: y", " z"),
        .fields("folded with a tab", .badRequest, "X: y", "\tz"),
        .fields("folded over an empty line", .badRequest, "X: y", " "),
        .head("a space before the first field", .badRequest, "GET / HTTP/1.1", " Host: a"),
        .head("a tab before the first field", .badRequest, "GET / HTTP/1.1", "\tHost: a"),
        .fields("no colon", .badRequest, "Xy"),
        .fields("an empty name", .badRequest, ": y"),
        .fields("a space before the colon", .badRequest, "Content-Length : 3"),
        .fields("a tab before the colon", .badRequest, "X\t: y"),
        .fields("a space in a name", .badRequest, "X Y: z"),
        .fields("NUL in a value", .badRequest, "X: a\0b"),
        .fields("0x01 in a value", .badRequest, "X: a\u{01}b"),
        .fields("0x1F at the end of a value", .badRequest, "X: a\u{1F}"),
        .fields("DEL in a value", .badRequest, "X: a\u{7F}b"),
        .fields("VT in a value", .badRequest, "X: a\u{0B}b"),
        .fields("NUL in a name", .badRequest, "X\0: y"),
        .fields("0x01 in a name", .badRequest, "X\u{01}: y"),
        .fields("DEL in a name", .badRequest, "X\u{7F}: y"),
        .fields("0x80 in a name", .badRequest, "X\u{80}: y"),
        .fields("0xFF in a name", .badRequest, "\u{FF}: y"),
        .fields("( in a name", .badRequest, "X(: y"),
        .fields("a quoted name", .badRequest, "\"X\": y"),
    ]

    static let endings: [RefusedRequest] = [
        .raw("LF behind the request line", .badRequest, "GET / HTTP/1.1\nHost: a\r\n\r\n"),
        .raw("LF behind a field", .badRequest, "GET / HTTP/1.1\r\nHost: a\n\r\n"),
        .raw("LF as the empty line", .badRequest, "GET / HTTP/1.1\r\nHost: a\r\n\n"),
        .raw("LF everywhere", .badRequest, "GET / HTTP/1.1\nHost: a\n\n"),
        .raw("LF CR", .badRequest, "GET / HTTP/1.1\n\rHost: a\n\r\n\r"),
        .raw("LF in a value", .badRequest, "GET / HTTP/1.1\r\nHost: a\r\nX: y\nZ: 1\r\n\r\n"),
        .raw("LF before all", .badRequest, "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        .raw("CR before all", .badRequest, "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        .raw("CR behind the request line", .badRequest, "GET / HTTP/1.1\rHost: a\r\n\r\n"),
        .raw("CR in the target", .badRequest, "GET /a\rb HTTP/1.1\r\nHost: a\r\n\r\n"),
        .raw("CR in a value", .badRequest, "GET / HTTP/1.1\r\nHost: a\r\nX: y\rz\r\n\r\n"),
        .raw("CR in a name", .badRequest, "GET / HTTP/1.1\r\nHost: a\r\nX\r: y\r\n\r\n"),
        .raw("CR as the empty line", .badRequest, "GET / HTTP/1.1\r\nHost: a\r\n\rX: y\r\n\r\n"),
        .raw("CR CR LF behind the request line", .badRequest, "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n"),
        .raw("CR CR LF behind a field", .badRequest, "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n"),
        .raw("CR CR LF as the empty line", .badRequest, "GET / HTTP/1.1\r\nHost: a\r\n\r\r\n"),
        .raw("two empty lines before the request", .badRequest, "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        .raw("a wrong method above a bare LF", .methodNotAllowed, "TRACE / HTTP/1.1\r\nHost: a\n\r\n"),
        .raw("a wrong version above CR CR LF", .versionUnsupported, "GET / HTTP/2.1\r\nHost: a\r\r\n\r\n"),
    ]

    static let hosts: [RefusedRequest] =
        plainHosts.map { RefusedRequest.host($0) } + [
            .head("no Host", .badRequest, "GET / HTTP/1.1"),
            .head("no Host, other fields", .badRequest, "GET / HTTP/1.1", "Accept: a"),
            .head("no Host with an absolute target", .badRequest, "GET http://a/ HTTP/1.1"),
            .head("two Hosts", .badRequest, "GET / HTTP/1.1", "Host: a", "Host: b"),
            .head("two equal Hosts", .badRequest, "GET / HTTP/1.1", "Host: a", "host: a"),
            .head("two Hosts in HTTP/1.0", .badRequest, "GET / HTTP/1.0", "Host: a", "Host: a"),
            .head("an empty Host in HTTP/1.0", .badRequest, "GET / HTTP/1.0", "Host:"),
            .head("userinfo in the target", .badRequest, "GET http://u@a/ HTTP/1.1", "Host: a"),
            .head("userinfo in target and Host", .badRequest, "GET http://u@a/ HTTP/1.1", "Host: u@a"),
            .head("userinfo with a password", .badRequest, "GET http://u:p@a/ HTTP/1.1", "Host: a"),
        ]

    private static let plainHosts = [
        "", "   ", "a@b", "a:b@c", "a, b", "a,b", "a b", "a;b", "a/b", "a?b", "a#b", "a\\b", "a%2eb", "a\u{80}",
        "\u{FF}", "\"a\"",
        "a:", "a:b", "a:-1", "a:+1", "a:65536", "a:99999999999999999999", "a:80:80", "a: 80", "a :80", ":80", ":",
        "::1",
        "[::1", "[]", "[::1]x", "[::1]80", "[::1]:", "[g::1]", "[::1%25eth0]", "a[::1]", "http://a", "a<b", "a'b",
        "a(b", "a!b",
    ]

    static let targets: [RefusedRequest] =
        plainTargets.map { RefusedRequest.target($0) } + [
            .line("OPTIONS to an authority", .badRequest, "OPTIONS a:80 HTTP/1.1"),
            .line("OPTIONS *x", .badRequest, "OPTIONS *x HTTP/1.1"),
            .line("POST *", .badRequest, "POST * HTTP/1.1"),
            .line("a custom method with *", .badRequest, "LIST * HTTP/1.1"),
        ]

    private static let plainTargets = [
        "a:80", "a", "a/b", "*", "?x", "", ".", "..", "http://", "http:///x", "http://?x", "http:/a/", "http:a",
        "http//a/", "ftp://a/",
        "ws://a/", "javascript:x", "/a b", "/a\tb", "/a\u{01}b", "/a\0b", "/a\u{7F}b", "/a\u{80}b", "/\u{FF}", "/#",
        "/a#b", "/?x#y", "#",
        "/?a\u{C3}", "*?x", "**", "/a HTTP/1.1 x",
    ]

    static let paths: [RefusedRequest] = plainPaths.map { RefusedRequest.target($0) }

    private static let plainPaths = [
        "//evil/x", "//", "//?x", "///", "http://a//evil/x", "/a/../b", "/..", "/../", "/.", "/./", "/a/.", "/a/..",
        "/a/./b", "/a/b/../../c",
        "/%2e%2e/", "/%2e", "/%2E/", "/.%2e/x", "/%2e./x", "/a/%2e%2E", "/a/..;/b", "/a/..;x=1/b", "/a/.;/b", "/;/..",
        "/..;", "/a/%2e%2e;/b",
        "/a/..%3b/b", "/a/..%3Bx/b", "/a\\..\\b", "/a\\b", "\\a", "/\\evil/x", "/a/\\", "/a%00b", "/%00", "/a%0d%0ab",
        "/%0a", "/%0D", "/%1f",
        "/%7f", "/%09", "/%c0%ae%c0%ae/", "/%c0%af", "/%C1%9C", "/%c0", "/%e0%80%ae", "/%E0%9F%BF", "/%f0%80%80%ae",
        "/%f0%8f%bf%bf",
        "/%f8%80%80%80%ae", "/%fc%80%80%80%80%ae", "/a/..%2fb", "/a%2f..%2fb", "/a%2f../b", "/a%2f..", "/..%2f",
        "/%2f..", "/a/.%2f", "/%2f.",
        "/a%5c..%5cb", "/..%5c", "/..%5Cb", "/%2e%2e%2f", "/%2e%2e%5cx", "/a%2f%2e%2e%2fb", "/a%2f..;x%2fb", "/%",
        "/%2", "/a%zz", "/a%2", "/%g0",
        "/a%2?x", "/%2/x", "http://a/../b", "http://a/%2e%2e/b",
    ]

    static let lines: [RefusedRequest] = [
        .line("two spaces before the target", .badRequest, "GET  / HTTP/1.1"),
        .line("two spaces before the version", .badRequest, "GET /  HTTP/1.1"),
        .line("a tab before the target", .badRequest, "GET\t/ HTTP/1.1"),
        .line("a tab before the version", .badRequest, "GET /\tHTTP/1.1"),
        .line("a leading space", .badRequest, " GET / HTTP/1.1"),
        .line("a leading tab", .badRequest, "\tGET / HTTP/1.1"),
        .line("a trailing space", .badRequest, "GET / HTTP/1.1 "),
        .line("something behind the version", .badRequest, "GET / HTTP/1.1 x"),
        .line("HTTP/0.9 without a version", .badRequest, "GET /"),
        .line("an empty version", .badRequest, "GET / "),
        .line("a method alone", .badRequest, "GET"),
        .line("HTTP/0.9", .versionUnsupported, "GET / HTTP/0.9"),
        .line("HTTP/2.0", .versionUnsupported, "GET / HTTP/2.0"),
        .line("HTTP/3.1", .versionUnsupported, "GET / HTTP/3.1"),
        .line("http/1.1", .badRequest, "GET / http/1.1"),
        .line("Http/1.1", .badRequest, "GET / Http/1.1"),
        .line("HTTP/1.10", .badRequest, "GET / HTTP/1.10"),
        .line("HTTP/01.1", .badRequest, "GET / HTTP/01.1"),
        .line("HTTP/1", .badRequest, "GET / HTTP/1"),
        .line("HTTP/1,1", .badRequest, "GET / HTTP/1,1"),
        .line("HTTP/1.x", .badRequest, "GET / HTTP/1.x"),
        .line("HTTP/-1.1", .badRequest, "GET / HTTP/-1.1"),
        .line("RTSP/1.0", .badRequest, "GET / RTSP/1.0"),
        .line("ICE/1.0", .badRequest, "GET / ICE/1.0"),
        .line("HTTPS/1.1", .badRequest, "GET / HTTPS/1.1"),
    ]

    static let protected: [RefusedRequest] = [
        .fields("two Authorization", .badRequest, "Authorization: Bearer a", "Authorization: Bearer a"),
        .fields("two Authorization, any case", .badRequest, "authorization: Basic a", "AUTHORIZATION: Bearer a"),
        .fields("two Martlet-Key", .badRequest, "Martlet-Key: a", "martlet-key: a"),
        .fields("two Martlet-Account", .badRequest, "Martlet-Account: a", "X: y", "MARTLET-ACCOUNT: b"),
        .fields("0x80 in Authorization", .badRequest, "Authorization: Bearer \u{80}"),
        .fields("0xFF in Martlet-Key", .badRequest, "Martlet-Key: \u{FF}"),
        .fields("0xE9 in Martlet-Account", .badRequest, "Martlet-Account: ren\u{E9}"),
        .fields("0x80 in Connection", .badRequest, "Connection: close\u{80}"),
        .fields("a space in a Connection option", .badRequest, "Connection: keep alive"),
        .fields("a quoted Connection option", .badRequest, "Connection: \"close\""),
        .fields("Connection: authorization", .badRequest, "Connection: authorization"),
        .fields(
            "Connection: close, Authorization",
            .badRequest,
            "Connection: close, Authorization",
            "Authorization: a"
        ),
        .fields("Connection: host", .badRequest, "Connection: host"),
        .fields("Connection: HOST in a second field", .badRequest, "Connection: close", "Connection: HOST"),
        .fields("Connection: content-length", .badRequest, "Connection: content-length", "Content-Length: 3"),
        .fields("Connection: transfer-encoding", .badRequest, "Connection: transfer-encoding"),
        .fields("Connection: martlet-key", .badRequest, "Connection: martlet-key"),
        .fields("Connection: Martlet-Anything", .badRequest, "Connection: Martlet-Anything"),
        .fields("Connection: expect", .badRequest, "Connection: expect"),
        .fields("Connection: content-type", .badRequest, "Connection: content-type"),
        .fields("Connection: content-encoding", .badRequest, "Connection: content-encoding"),
        .fields("Connection: cookie", .badRequest, "Connection: cookie"),
        .fields("Connection: via", .badRequest, "Connection: via"),
        .fields(
            "65 Connection options",
            .badRequest,
            "Connection: " + Array(repeating: "x", count: 65).joined(separator: ",")
        ),
        .fields("Expect: something", .expectationFailed, "Expect: something"),
        .fields("Expect: 100-continue, x", .expectationFailed, "Expect: 100-continue, x"),
        .fields("an empty Expect", .expectationFailed, "Expect:"),
        .fields("a second Expect", .expectationFailed, "Expect: 100-continue", "Expect: 200-ok"),
        .fields("0x80 in Expect", .expectationFailed, "Expect: 100-continue\u{80}"),
    ]
}
