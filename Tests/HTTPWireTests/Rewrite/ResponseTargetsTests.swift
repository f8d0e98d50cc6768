import HTTPWire
import NIOCore
import Testing

@Suite struct ResponseTargetsTests {
    /// How a route changes paths: an upstream and a prefix.
    struct Mapping: Sendable {
        var scheme = "https"
        var authority = "api.example"
        var path = "/v2/"
        var prefix = "/acme/"
        var strip = true

        static let usual = Mapping()
        static let port = Mapping(scheme: "http", authority: "127.0.0.1:9000")
        static let root = Mapping(path: "/")
        static let ontoRoot = Mapping(prefix: "/")
        static let kept = Mapping(strip: false)
    }

    private func passed(_ name: String, _ value: String, _ mapping: Mapping) throws -> String {
        let lines = ["HTTP/1.1 302 Found", "A: b", "\(name): \(value)", "Content-Length: 0"]
        let parsed = try parseAnswer([head(lines)[...]], answering: .get)
        let answer = try #require(parsed).0
        let targets = ResponseTargets(
            scheme: mapping.scheme,
            authority: mapping.authority,
            upstreamPath: mapping.path,
            prefix: mapping.prefix,
            strip: mapping.strip
        )
        let written = text(
            CallerResponse.head(
                of: answer,
                framing: answer.body,
                close: false,
                targets: targets
            )
        )
        let begin = "HTTP/1.1 302 Found\r\nA: b\r\n\(name): "
        let end = "\r\nContent-Length: 0\r\n\r\n"
        try #require(written.hasPrefix(begin) && written.hasSuffix(end), "\(written)")
        return String(written.dropFirst(begin.count).dropLast(end.count))
    }

    static let mapped: [(Mapping, String, String)] = [
        (.usual, "https://api.example/v2/users/1?a=b#c", "/acme/users/1?a=b#c"),
        (.usual, "https://api.example/v2/", "/acme/"),
        (.usual, "HTTPS://API.Example/v2/x", "/acme/x"),
        (.usual, "https://api.example:443/v2/x", "/acme/x"),
        (.usual, "//api.example/v2/x", "/acme/x"),
        (.usual, "/v2/users", "/acme/users"),
        (.usual, "/v2/", "/acme/"),
        (.usual, "/v2/?page=2", "/acme/?page=2"),
        (.usual, "/v2/a%2Fb/%E9", "/acme/a%2Fb/%E9"),
        (.usual, "/v2/x?next=/../y", "/acme/x?next=/../y"),
        (.usual, "/v2/...", "/acme/..."),
        (.usual, "/v2/.hidden/a..b", "/acme/.hidden/a..b"),
        (.usual, "/v2//x", "/acme//x"),
        (.port, "http://127.0.0.1:9000/v2/x", "/acme/x"),
        (.root, "https://api.example/users", "/acme/users"),
        (.root, "https://api.example", "/acme/"),
        (.root, "https://api.example?page=2", "/acme/?page=2"),
        (.root, "/users", "/acme/users"),
        (.root, "/", "/acme/"),
        (.ontoRoot, "/v2/x", "/x"),
        (.ontoRoot, "https://api.example/v2/", "/"),
        (.kept, "/v2/acme/x", "/acme/x"),
        (.kept, "https://api.example/v2/acme/x", "/acme/x"),
    ]

    @Test(arguments: mapped, ["Location", "content-location", "Operation-Location"])
    func `a target in the upstream is mapped to the route's prefix`(
        row: (mapping: Mapping, target: String, expected: String),
        name: String
    ) throws {
        #expect(try self.passed(name, row.target, row.mapping) == row.expected)
    }

    static let kept: [(Mapping, String)] = [
        (.usual, ""), (.usual, "users/1"), (.usual, "../x"), (.usual, "?page=2"), (.usual, "#a"), (.usual, "/"),
        (.usual, "/v2"), (.usual, "/v20/x"), (.usual, "/V2/x"), (.usual, "/other/v2/x"), (.usual, "/%76%32/x"),
        (.usual, "http://api.example/v2/x"), (.usual, "https://api.example.evil/v2/x"),
        (.usual, "https://api.example:8443/v2/x"), (.usual, "https://api.example:80/v2/x"),
        (.usual, "https://user@api.example/v2/x"), (.usual, "https://other.example/v2/x"),
        (.usual, "https://api.example"), (.usual, "https://api.example/"), (.usual, "https:/v2/x"),
        (.usual, "https:v2/x"), (.usual, "https://"), (.usual, "https"), (.usual, "//"), (.usual, "//evil/v2/x"),
        (.usual, "///v2/x"), (.usual, "ftp://api.example/v2/x"), (.usual, "mailto:a@api.example"),
        (.usual, "/v2/../admin"), (.usual, "/v2/."), (.usual, "/v2/a/.."), (.usual, "/v2/%2e%2E/x"),
        (.usual, "/v2/.%2e?x"), (.usual, "https://api.example/v2/a/../../x"),
        // Browsers read `\` as a slash and drop a tab.
        (.usual, "/v2/..\\admin"), (.usual, "/v2/.\t./x"), (.usual, "https://api.example/v2/a\\..\\..\\x"),
        (.ontoRoot, "/v2/\\evil.example"),
        (.port, "http://127.0.0.1/v2/x"), (.port, "http://127.0.0.1:9000:80/x"), (.port, "http://127.0.0.1:90/v2/x"),
        (.root, "//other/x"),
        // With the prefix `/`, the mapped target must not begin with `//` and name another host.
        (.ontoRoot, "/v2//evil.example"), (.ontoRoot, "https://api.example/v2//evil.example"),
        (.kept, "/v2/x"), (.kept, "/acme/x"),
    ]

    @Test(arguments: kept, ["Location", "Content-Location", "operation-location"])
    func `any other target stays byte for byte`(row: (mapping: Mapping, target: String), name: String) throws {
        #expect(try self.passed(name, row.target, row.mapping) == row.target)
    }

    @Test(arguments: [
        ("<https://api.example/v2/u?page=2>; rel=\"next\"", "</acme/u?page=2>; rel=\"next\""),
        (
            "<https://api.example/v2/u?page=2>; rel=next, </v2/u?page=9>;rel=last ,<https://o.example/v2/>; rel=x",
            "</acme/u?page=2>; rel=next, </acme/u?page=9>;rel=last ,<https://o.example/v2/>; rel=x"
        ),
        ("</style.css>; rel=preload; as=style", "</style.css>; rel=preload; as=style"),
        (
            "</v2/a>; title=\"</v2/b>\"; anchor=\"/v2/c\", </v2/d>",
            "</acme/a>; title=\"</v2/b>\"; anchor=\"/v2/c\", </acme/d>"
        ),
        ("</v2/a>; title=\"a \\\" </v2/b>\", </v2/c>", "</acme/a>; title=\"a \\\" </v2/b>\", </acme/c>"),
        ("</v2/a", "</v2/a"), ("</v2/a>, </v2/b", "</acme/a>, </v2/b"), ("/v2/a", "/v2/a"), ("", ""), ("<>", "<>"),
        ("<", "<"), ("\"", "\""), ("</v2/a>; t=\"\\", "</acme/a>; t=\"\\"),
        ("< /v2/a>", "< /v2/a>"),
    ])
    func `each target of a Link is mapped on its own, and its parameters stay`(value: String, expected: String) throws {
        #expect(try self.passed("Link", value, .usual) == expected)
    }

    @Test(arguments: [
        ("5; url=/v2/x", "5; url=/acme/x"), ("0;URL=https://api.example/v2/x?a=b", "0;URL=/acme/x?a=b"),
        ("5,url='/v2/x'", "5,url='/acme/x'"), ("5 url = \"/v2/x\" ; x", "5 url = \"/acme/x\" ; x"),
        ("1.5; /v2/x", "1.5; /acme/x"), ("5 /v2/x", "5 /acme/x"), ("5;\turl=\"/v2/x", "5;\turl=\"/acme/x"),
        // Targets outside the upstream, or no target at all
        ("5", "5"), ("5;", "5;"), ("5; url=", "5; url="), ("5; url=''", "5; url=''"), ("", ""), ("x", "x"),
        ("/v2/x", "/v2/x"), ("url=/v2/x", "url=/v2/x"), ("5/v2/x", "5/v2/x"), ("5; url/v2/x", "5; url/v2/x"),
        ("5; url=x", "5; url=x"), ("5; url=/v2/../x", "5; url=/v2/../x"), ("5;; /v2/x", "5;; /v2/x"),
        ("5; url=https://o.example/v2/x", "5; url=https://o.example/v2/x"), (";url=/v2/x", ";url=/v2/x"),
    ])
    func `the target of a Refresh is found the way browsers find it`(value: String, expected: String) throws {
        #expect(try self.passed("Refresh", value, .usual) == expected)
    }

    @Test(arguments: ["URI", "Referer", "X-Location", "Operation_Location", "Refreshed"])
    func `targets in other fields stay byte for byte`(name: String) throws {
        #expect(try self.passed(name, "/v2/x", .usual) == "/v2/x")
    }

    @Test(arguments: AcceptedResponse.all)
    func `a response without targets in the upstream passes byte for byte`(_ answer: AcceptedResponse) throws {
        let parsed = try parseAnswer([answer.bytes[...]], answering: answer.method)
        let head = try #require(parsed).0
        let targets = ResponseTargets(
            scheme: "http",
            authority: "no-such.example",
            upstreamPath: "/no-such-path/",
            prefix: "/acme/",
            strip: true
        )
        let written = CallerResponse.head(
            of: head,
            framing: head.body,
            close: false,
            targets: targets
        )
        #expect(text(written) == text(answer.passed))
    }
}
