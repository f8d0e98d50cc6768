import Proxy

/// Hosts and targets (RFC 9110 §7.2, RFC 9112 §3.2), and paths that two readers may understand differently.
extension HostileCase {
    static let targets: [HostileCase] = hosts + absoluteForms + targetForms + targetBytes + paths + passedPaths

    private static let hosts: [HostileCase] =
        oddHosts.map { .head(.host, "GET /acme/x HTTP/1.1", "Host: \($0)") } + missingOrDoubledHosts

    private static let oddHosts: [String] = [
        "", "   ", "a@b", "u:p@a", "a, b", "a,b", "a b", "a;b", "a/b", "a?b", "a#b", "a\\b", "a%2eb", "\"a\"", "a:",
        "a:b", "a:-1", "a:+1", "a:0x50", "a:65536", "a:99999999999999999999", "a:80:80", "a: 80", "a :80", ":80",
        ":", "::1", "[::1", "[]", "[::1]x", "[::1]80", "[::1]:", "[g::1]", "[::1%25eth0]", "a[::1]", "http://a",
        "a<b", "a'b", "a(b", "a!b", "a*b", "a\tb",
    ]

    private static let missingOrDoubledHosts: [HostileCase] = [
        .head(.host, "GET /acme/x HTTP/1.1"),
        .head(.host, "GET /acme/x HTTP/1.1", "X: y"),
        .head(.host, "GET http://a/acme/x HTTP/1.1"),
        .head(.host, "GET /acme/x HTTP/1.1", "Host: a", "Host: a"),
        .head(.host, "GET /acme/x HTTP/1.1", "Host: a", "Host: b"),
        .head(.host, "GET /acme/x HTTP/1.1", "host: b", "X: y", "HOST: a"),
        .head(.host, "GET /acme/x HTTP/1.1", "Host:", "Host: a"),
        .head(.host, "GET /acme/x HTTP/1.0", "Host: a", "Host: a"),
        .head(.host, "GET /acme/x HTTP/1.0", "Host:"),
        .head(.host, "OPTIONS * HTTP/1.1"),
    ]

    private static let absoluteForms: [HostileCase] = [
        .head(.absoluteForm, "GET http://u@a/acme/x HTTP/1.1", "Host: a"),
        .head(.absoluteForm, "GET http://u@a/acme/x HTTP/1.1", "Host: u@a"),
        .head(.absoluteForm, "GET http://u:p@a/acme/x HTTP/1.1", "Host: a"),
        .head(.absoluteForm, "GET http://@a/acme/x HTTP/1.1", "Host: a"),
        .head(.absoluteForm, "GET http://a@/acme/x HTTP/1.1", "Host: a"),
        .head(.absoluteForm, "GET http://u@a/acme/x HTTP/1.0"),
        .head(.absoluteForm, "GET http://a:/acme/x HTTP/1.1", "Host: a:"),
        .head(.absoluteForm, "GET http://a%2eb/acme/x HTTP/1.1", "Host: a%2eb"),
        .head(.absoluteForm, "GET http:///acme/x HTTP/1.1", "Host: a"),
        .head(.absoluteForm, "GET http://?acme HTTP/1.1", "Host: a"),
        .head(.absoluteForm, "GET http://a\\acme/x HTTP/1.1", "Host: a"),
        .head(.absoluteForm, "GET http://a/acme/../x HTTP/1.1", "Host: a"),
        .head(.absoluteForm, "GET http://a//acme/x HTTP/1.1", "Host: a"),
        passedTarget(.absoluteForm, "http://a/acme/x", "/v2/x"),
        passedTarget(.absoluteForm, "HTTP://A/acme/x?y", "/v2/x?y"),
        passedTarget(.absoluteForm, "https://a/acme/", "/v2/"),
        .passing(
            .absoluteForm,
            "its host counts where Host is missing in HTTP/1.0",
            "GET http://a/acme/x HTTP/1.0\r\n\r\n",
            PassedRequest("GET /v2/x", version: "1.0")
        ),
        .passing(
            .absoluteForm,
            "its host counts, whatever Host says",
            "GET http://a:81/acme/x HTTP/1.1\r\nHost: b:82\r\n\r\n",
            PassedRequest("GET /v2/x")
        ),
        .passing(
            .absoluteForm,
            "a port in both",
            "GET http://A:8080/acme/x HTTP/1.1\r\nHost: a:8080\r\n\r\n",
            PassedRequest("GET /v2/x")
        ),
    ]

    private static let targetForms: [HostileCase] =
        oddForms.map { .line(.targetForms, "GET \($0) HTTP/1.1") } + oddAsterisks

    private static let oddForms: [String] = [
        "a:80", "a", "a/acme/x", "acme/x", "?x", ".", "..", "../acme/x", "http:/a/acme/x", "http:a", "http//a/x",
        "http://", "ftp://a/acme/x", "ws://a/acme/x", "file:///acme/x", "javascript:x", "*", "**", "*?x",
        "*/acme/x",
    ]

    private static let oddAsterisks: [HostileCase] = [
        .line(.targetForms, "POST * HTTP/1.1"), .line(.targetForms, "HEAD * HTTP/1.1"),
        .line(.targetForms, "PURGE * HTTP/1.1"), .line(.targetForms, "OPTIONS ** HTTP/1.1"),
        .line(.targetForms, "OPTIONS *x HTTP/1.1"), .line(.targetForms, "OPTIONS *?x HTTP/1.1"),
        .line(.targetForms, "OPTIONS a:80 HTTP/1.1"),
    ]

    private static let targetBytes: [HostileCase] =
        (oddBytes.map { "a\($0)b" } + oddBytes + notUTF8).flatMap { bytes -> [HostileCase] in
            [.line(.targetBytes, "GET /acme/\(bytes) HTTP/1.1"), .line(.targetBytes, "GET /acme/?\(bytes)a HTTP/1.1")]
        } + oddBytes.map { .line(.targetBytes, "GET \($0) HTTP/1.1") } + [
            passedTarget(.targetBytes, "/acme/\u{C3}\u{A9}?\u{E2}\u{82}\u{AC}", "/v2/\u{C3}\u{A9}?\u{E2}\u{82}\u{AC}")
        ]

    /// Truncated and overlong sequences, surrogates, values above the last code point, and two-byte control characters.
    private static let notUTF8: [String] = [
        "\u{C3}", "\u{E2}\u{82}", "\u{F0}\u{9F}\u{90}", "\u{A9}", "\u{C3}a", "\u{E2}\u{82}a", "\u{C0}\u{AF}",
        "\u{C1}\u{BF}", "\u{E0}\u{80}\u{AF}", "\u{E0}\u{9F}\u{BF}", "\u{F0}\u{80}\u{80}\u{AF}",
        "\u{F0}\u{8F}\u{BF}\u{BF}", "\u{ED}\u{A0}\u{80}", "\u{ED}\u{BF}\u{BF}", "\u{F4}\u{90}\u{80}\u{80}",
        "\u{F5}\u{80}\u{80}\u{80}", "\u{C2}\u{80}", "\u{C2}\u{85}", "\u{C2}\u{9F}",
    ]

    private static let oddBytes: [String] = (0...0xFF).compactMap { (byte: UInt8) -> String? in
        let isVisible = byte > 0x20 && byte < 0x7F && byte != 0x23
        return isVisible || byte == 0x0A || byte > 0x82 && byte < 0xFD ? nil : String(Unicode.Scalar(byte))
    }

    private static let paths: [HostileCase] = oddPaths.map { .line(.paths, "GET \($0) HTTP/1.1") }

    private static let oddPaths: [String] = [
        "//evil/x", "//evil/acme/x", "//", "//?x", "///acme/x", "http://a//evil/x",
        "/acme/../b", "/acme/..", "/acme/.", "/acme/./b", "/acme/a/../../b", "/../acme/x", "/./acme/x",
        "/acme/%2e%2e/", "/acme/%2E%2E/b", "/acme/.%2e/b", "/acme/%2e./b", "/acme/%2e", "/acme/%2e/b", "/%2e%2e/acme/",
        "/acme/..;/b", "/acme/..;x=1/b", "/acme/.;/b", "/acme/..;", "/acme/%2e%2e;/b", "/acme/..%3b/b",
        "/acme/..%3Bx/b", "/;/../acme/",
        "/acme/a\\..\\b", "/acme\\x", "/acme/a\\b", "\\acme\\x", "/\\evil/x", "/acme/\\",
        "/acme/a%00b", "/acme/%00", "/acme/x%00.json", "/acme/a%0d%0ab", "/acme/%0a", "/acme/%0D", "/acme/%09",
        "/acme/%1f", "/acme/%7f", "/acme/%7F",
        "/acme/%c0%ae%c0%ae/", "/acme/%c0%af", "/acme/%C1%9C", "/acme/%c0", "/acme/%e0%80%ae", "/acme/%E0%9F%BF",
        "/acme/%f0%80%80%ae", "/acme/%f0%8f%bf%bf", "/acme/%f8%80%80%80%ae", "/acme/%fc%80%80%80%80%ae",
        "/acme/a%2f..%2fb", "/acme/a%2f../b", "/acme/..%2fb", "/acme/..%2Fb", "/acme/%2f..", "/acme/.%2f",
        "/acme/%2f.", "/acme/%2e%2e%2fb", "/acme/a%2f%2e%2e%2fb", "/acme/a%2f..;x%2fb", "/acme%2f..%2fx",
        "/acme/a%5c..%5cb", "/acme/..%5c", "/acme/..%5Cb", "/acme/%2e%2e%5cb", "/acme/%5c..", "/acme/.%5cb",
        "/acme/%", "/acme/%2", "/acme/a%zz", "/acme/%2?x", "/acme/%g0", "/acme/%2/x",
    ]

    static func passedTarget(_ row: HostileRow, _ target: String, _ passed: String) -> HostileCase {
        .passing(row, target, "GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n", PassedRequest("GET \(passed)"))
    }

    private static let passedPaths: [HostileCase] = [
        passedTarget(.paths, "/acme/a%2Fb", "/v2/a%2Fb"), passedTarget(.paths, "/acme/a%2f%5Cb/c", "/v2/a%2f%5Cb/c"),
        passedTarget(.paths, "/acme/%2Fb", "/v2/%2Fb"), passedTarget(.paths, "/acme/...", "/v2/..."),
        passedTarget(.paths, "/acme/%252e%252e/", "/v2/%252e%252e/"),
        passedTarget(.paths, "/acme/a;x=../b", "/v2/a;x=../b"), passedTarget(.paths, "/acme/a..b/.c", "/v2/a..b/.c"),
        passedTarget(.paths, "/acme//b", "/v2//b"), passedTarget(.paths, "/acme/?/../\\%00", "/v2/?/../\\%00"),
        passedTarget(.paths, "/%61cm%65/x", "/v2/x"),
    ]
}
