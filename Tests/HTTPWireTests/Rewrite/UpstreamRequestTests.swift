import HTTPWire
import NIOCore
import Testing

/// What a route makes of a request head, written out.
struct RewriteCase: Sendable, CustomTestStringConvertible {
    let name: String
    let lines: [String]
    let expected: [String]
    var prefix = 6
    var path = "/v2/"
    var via = false
    var injected = "Authorization"
    var framing = BodyFraming.none

    var testDescription: String { self.name }

    init(
        _ name: String,
        _ lines: [String],
        becomes expected: [String],
        with change: (inout RewriteCase) -> Void = { _ in }
    ) {
        self.name = name
        self.lines = lines
        self.expected = expected
        change(&self)
    }

    /// A GET for `target`, and the target that leaves.
    static func target(_ target: String, _ expected: String, with change: (inout RewriteCase) -> Void = { _ in })
        -> RewriteCase
    {
        RewriteCase(
            "\(target) becomes \(expected)",
            ["GET \(target) HTTP/1.1", "Host: a"],
            becomes: ["GET \(expected) HTTP/1.1", "Host: api.example"],
            with: change
        )
    }

    static func method(_ method: String, framing: BodyFraming, _ line: String?) -> RewriteCase {
        let expected = ["\(method) /v2/x HTTP/1.1", "Host: api.example"] + (line.map { [$0] } ?? [])
        return RewriteCase("\(method) with \(framing)", ["\(method) /acme/x HTTP/1.1", "Host: a"], becomes: expected) {
            $0.framing = framing
        }
    }
}

@Suite struct UpstreamRequestTests {
    private static let targets: [RewriteCase] = [
        .target("/acme/", "/v2/"),
        .target("/acme/users?page=2", "/v2/users?page=2"),
        .target("/acme/a%2Fb/%E0%20;x=1//c/", "/v2/a%2Fb/%E0%20;x=1//c/"),
        .target("/acme/?%zz&a=/../b?c#".replacing("#", with: ""), "/v2/?%zz&a=/../b?c"),
        .target("/acme/users", "/users") { $0.path = "/" },
        .target("/%61cme/users", "/v2/users") { $0.prefix = 8 },
        .target("http://a/acme/users?x", "/v2/users?x"),
        .target("HTTPS://a/acme/users?x", "/v2/users?x"),
        // strip: false
        .target("/acme/users?page=2", "/v2/acme/users?page=2") { $0.prefix = 0 },
        .target("/acme/users", "/acme/users") {
            $0.prefix = 0
            $0.path = "/"
        },
        .target("/", "/v2/") { $0.prefix = 0 },
        .target("/?x", "/v2/?x") { $0.prefix = 0 },
        .target("http://a/b?c", "/v2/b?c") { $0.prefix = 0 },
        // The empty path of an absolute target is `/` (RFC 9110 §4.2.3).
        .target("http://a", "/v2/") { $0.prefix = 0 },
        .target("http://a?x", "/v2/?x") { $0.prefix = 0 },
        .target("http://a", "/") {
            $0.prefix = 0
            $0.path = "/"
        },
        .target("http://a?x", "/?x") {
            $0.prefix = 1
            $0.path = "/"
        },
        .target("http://a?x", "/v2/?x") { $0.prefix = 1 },
        RewriteCase(
            "OPTIONS *",
            ["OPTIONS * HTTP/1.1", "Host: a"],
            becomes: ["OPTIONS * HTTP/1.1", "Host: api.example"]
        ),
        RewriteCase(
            "OPTIONS *, strip: false",
            ["OPTIONS * HTTP/1.1", "Host: a"],
            becomes: ["OPTIONS * HTTP/1.1", "Host: api.example"]
        ) {
            $0.prefix = 0
        },
    ]

    private static let methods: [RewriteCase] = [
        .method("GET", framing: .none, nil),
        .method("GET", framing: .length(0), "Content-Length: 0"),
        .method("GET", framing: .length(12), "Content-Length: 12"),
        .method("GET", framing: .chunked, "Transfer-Encoding: chunked"),
        .method("HEAD", framing: .none, nil),
        .method("DELETE", framing: .none, nil),
        .method("DELETE", framing: .chunked, "Transfer-Encoding: chunked"),
        .method("OPTIONS", framing: .none, nil),
        .method("POST", framing: .none, "Content-Length: 0"),
        .method("PUT", framing: .none, "Content-Length: 0"),
        .method("PATCH", framing: .none, "Content-Length: 0"),
        .method("POST", framing: .length(.max), "Content-Length: 9223372036854775807"),
        .method("POST", framing: .chunked, "Transfer-Encoding: chunked"),
        .method("PROPFIND", framing: .none, nil),
        .method("!#$%&'*+-.^_`|~09azAZ", framing: .length(10), "Content-Length: 10"),
    ]

    private static let fields: [RewriteCase] = [
        RewriteCase(
            "fields pass byte for byte, in order",
            [
                "GET /acme/ HTTP/1.1", "accept:  a ;q=1\t", "X-A: 1", "Host: a", "Accept: b", "X-Empty:",
                "X: \u{80}\u{FF}caf\u{E9}\t\"", "X-A: 1",
                "Cookie: c=d", "Content-Type: x/y", "X-Original-URL: /admin", "X-Forwarded: no",
                "!#$%&'*+-.^`|~09azAZ: b",
            ],
            becomes: [
                "GET /v2/ HTTP/1.1", "Host: api.example", "accept:  a ;q=1\t", "X-A: 1", "Accept: b", "X-Empty:",
                "X: \u{80}\u{FF}caf\u{E9}\t\"",
                "X-A: 1", "Cookie: c=d", "Content-Type: x/y", "X-Original-URL: /admin", "X-Forwarded: no",
                "!#$%&'*+-.^`|~09azAZ: b",
            ]
        ),
        RewriteCase(
            "fields of the connection stay",
            [
                "POST /acme/ HTTP/1.1", "Host: a", "Connection: keep-alive, x-one", "X-One: 1", "A: b",
                "Keep-Alive: timeout=5",
                "Proxy-Connection: keep-alive", "connection: X-Two", "x-two: 2", "x-TWO: 3", "TE: trailers",
                "Trailer: X", "Upgrade: h2c",
                "HTTP2-Settings: x", "Proxy-Authorization: Basic x", "Proxy-Authenticate: Basic", "X-Three: 3",
                "Transfer-Encoding: chunked",
                "Expect: 100-continue",
            ],
            becomes: ["POST /v2/ HTTP/1.1", "Host: api.example", "A: b", "X-Three: 3", "Transfer-Encoding: chunked"]
        ) { $0.framing = .chunked },
        RewriteCase(
            "credentials and the caller's address stay",
            [
                "GET /acme/ HTTP/1.1", "aUTHORIZATION: Bearer stolen", "Host: a", "Martlet-Key: k",
                "MARTLET-ACCOUNT: b", "martlet-x: c", "Martlet-: d",
                "Forwarded: for=1.2.3.4", "X-Forwarded-For: 1.2.3.4", "x-forwarded-HOST: h", "X-Forwarded-Anything: z",
                "X-Real-IP: 1.2.3.4", "A: b",
            ],
            becomes: ["GET /v2/ HTTP/1.1", "Host: api.example", "A: b"]
        ),
        RewriteCase(
            "another injected field",
            [
                "GET /acme/ HTTP/1.1", "Host: a", "x-API-key: mine", "Authorization: Basic x", "X-Api-Key2: a",
                "X-API-KEY: two",
            ],
            becomes: ["GET /v2/ HTTP/1.1", "Host: api.example", "X-Api-Key2: a"]
        ) { $0.injected = "X-Api-Key" },
        RewriteCase(
            "an injected field with underscores, which an upstream may take for the caller's",
            [
                "GET /acme/ HTTP/1.1", "Host: a", "x-API-key: mine", "X-ApiKey: a", "X-Api-Key: two",
            ],
            becomes: ["GET /v2/ HTTP/1.1", "Host: api.example", "X-ApiKey: a"]
        ) { $0.injected = "X_Api_Key" },
        RewriteCase(
            "an injected field that is known",
            ["GET /acme/ HTTP/1.1", "Host: a", "cookie: mine", "A: b"],
            becomes: ["GET /v2/ HTTP/1.1", "Host: api.example", "A: b"]
        ) {
            $0.injected = "Cookie"
        },
        RewriteCase(
            "AUTHORIZATION as the injected field",
            ["GET /acme/ HTTP/1.1", "Host: a", "Authorization: mine", "A: b"],
            becomes: ["GET /v2/ HTTP/1.1", "Host: api.example", "A: b"]
        ) {
            $0.injected = "AUTHORIZATION"
        },
        RewriteCase(
            "Via behind the caller's own",
            ["GET /acme/ HTTP/1.1", "Host: a", "Via: 1.0 fred", "A: b"],
            becomes: [
                "GET /v2/ HTTP/1.1", "Host: api.example", "Via: 1.0 fred", "A: b", "Via: 1.1 martlet",
                "Content-Length: 1",
            ]
        ) {
            $0.via = true
            $0.framing = .length(1)
        },
        RewriteCase(
            "HTTP/1.0 becomes HTTP/1.1",
            ["GET /acme/ HTTP/1.0", "A: b"],
            becomes: ["GET /v2/ HTTP/1.1", "Host: api.example", "A: b"]
        ),
        RewriteCase(
            "the length is canonical",
            ["PUT /acme/ HTTP/1.1", "Content-Length: 0007", "Host: a"],
            becomes: ["PUT /v2/ HTTP/1.1", "Host: api.example", "Content-Length: 7"]
        ) {
            $0.framing = .length(7)
        },
        RewriteCase(
            "a coding becomes a length",
            ["PUT /acme/ HTTP/1.1", "Transfer-Encoding: CHUNKED", "Host: a"],
            becomes: ["PUT /v2/ HTTP/1.1", "Host: api.example", "Content-Length: 7"]
        ) {
            $0.framing = .length(7)
        },
        RewriteCase(
            "a length becomes a coding",
            ["PUT /acme/ HTTP/1.1", "Host: a", "Content-Length: 7"],
            becomes: ["PUT /v2/ HTTP/1.1", "Host: api.example", "Transfer-Encoding: chunked"]
        ) {
            $0.framing = .chunked
        },
    ]

    @Test(arguments: targets + methods + fields)
    func `the head that leaves is the caller's, but for what must change`(_ row: RewriteCase) throws {
        let parsed = try parseRequest([head(row.lines)[...]])
        let request = try #require(parsed).0
        let upstream = UpstreamRequest(path: row.path, host: "api.example", via: row.via, injectedName: row.injected)
        let written = upstream.head(
            for: request,
            replacing: row.prefix,
            framing: row.framing,
            spare: 0
        )
        #expect(text(written) == row.expected.map { $0 + "\r\n" }.joined())
    }

    @Test func `the room asked for is there, so that the injected line moves nothing`() throws {
        let parsed = try parseRequest([head(["GET / HTTP/1.1", "Host: a"])[...]])
        let upstream = UpstreamRequest(path: "/", host: "a", via: true, injectedName: "Authorization")
        let written = try upstream.head(
            for: #require(parsed).0,
            replacing: 1,
            framing: .length(.max),
            spare: 5000
        )
        #expect(written.writableBytes >= 5000)
    }

    @Test func `trailers go upstream only where they can do no harm`() throws {
        let lines = [
            "X-Checksum: 1", "Content-Length: 3", "Transfer-Encoding: chunked", "Host: b", "Authorization: Bearer x",
            "martlet-key: k", "x-api-KEY: mine",
            "X_Api_Key: mine", "X-Forwarded-For: 1.2.3.4", "Forwarded: x", "X-Real-IP: y", "Cookie: a", "TE: x",
            "Connection: close", "Trailer: x",
            "Content-Type: x/y", "Expect: 100-continue", "grpc-status: 0",
        ]
        var decoder = BodyDecoder(.chunked)
        var buffer = ByteBuffer(string: "0\r\n")
        buffer.writeBytes(head(lines))
        guard case .end(let trailers) = try decoder.next(&buffer) else {
            Issue.record("no end")
            return
        }
        let upstream = UpstreamRequest(path: "/", host: "a", via: true, injectedName: "X-Api-Key")
        let end = upstream.lastChunk(trailers, allocator: ByteBufferAllocator())
        #expect(text(end) == "0\r\nX-Checksum: 1\r\ngrpc-status: 0\r\n\r\n")
        #expect(text(upstream.lastChunk(nil, allocator: ByteBufferAllocator())) == "0\r\n\r\n")
    }
}
