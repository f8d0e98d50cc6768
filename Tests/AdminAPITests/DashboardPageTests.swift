internal import AdminAPI
internal import NIOHTTP1
internal import Testing

/// The files of the dashboard and their security headers.
@Suite struct DashboardPageTests {
    private static let files: [(path: String, type: String, text: String)] = [
        ("/", "text/html; charset=utf-8", "<title>Martlet</title>"),
        ("/dashboard.css", "text/css; charset=utf-8", "prefers-color-scheme: dark"),
        ("/dashboard.js", "text/javascript; charset=utf-8", "/v1/kill"),
        ("/page.js", "text/javascript; charset=utf-8", "Martlet-Session"),
        ("/accounts.js", "text/javascript; charset=utf-8", "/v1/accounts"),
        ("/charts.js", "text/javascript; charset=utf-8", "/v1/history"),
        ("/login.js", "text/javascript; charset=utf-8", "/v1/logins"),
        ("/lock.js", "text/javascript; charset=utf-8", "/v1/unlock"),
        ("/martlet.svg", "image/svg+xml", "<svg"),
    ]

    @Test(arguments: Self.files)
    func `given a browser, it gets the page's files without a token, with strict security headers`(
        path: String,
        type: String,
        text: String
    ) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.GET, path, fields: [:])
            #expect(answer.status == 200)
            #expect(answer.body.contains(text))
            let expected = [
                "content-type": type,
                "content-security-policy":
                    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                    + "img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; "
                    + "require-trusted-types-for 'script'",
                "x-content-type-options": "nosniff",
                "referrer-policy": "same-origin",
                "cache-control": "no-store",
                "cross-origin-opener-policy": "same-origin",
                "cross-origin-resource-policy": "same-origin",
            ]
            for (name, value) in expected { #expect(answer.headers[name] == [value]) }
            #expect(!answer.headers.contains(name: "set-cookie"))

            let head = try await admin.caller.send(.HEAD, path, fields: [:])
            #expect(head.status == 200)
            #expect(head.body == "")
        }
    }

    @Test func `the page loads nothing from other hosts, has nothing inline and never turns text into markup`()
        async throws
    {
        try await AdminFixture.run { admin in
            let page = try await admin.caller.send(.GET, "/", fields: [:]).body
            let style = try await admin.caller.send(.GET, "/dashboard.css", fields: [:]).body
            for text in ["://", " style=", "<style", " onclick", "<script>"] { #expect(!page.contains(text)) }
            for path in ["/dashboard.js", "/page.js", "/accounts.js", "/charts.js", "/login.js", "/lock.js"] {
                let script = try await admin.caller.send(.GET, path, fields: [:]).body
                for text in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "://"] {
                    #expect(!script.contains(text), "\(path)")
                }
            }
            for text in ["://", "@import", "url("] { #expect(!style.contains(text)) }
        }
    }

    @Test(arguments: [
        (HTTPMethod.POST, "/", "GET, HEAD"), (.DELETE, "/dashboard.js", "GET, HEAD"),
        (.GET, "/session", "POST, DELETE"),
    ])
    func `given a method that a path does not allow, the response lists the allowed ones`(
        method: HTTPMethod,
        path: String,
        allowed: String
    ) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(method, path, fields: [:])
            #expect(answer.status == 405)
            #expect(answer.headers.first(name: "allow") == allowed)
        }
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("127.0.0.1:8081", true), ("localhost:8081", true), ("LOCALHOST", true),
        ("[::1]:8081", true),
        ("10.20.30.40:8081", true), ("127.evil.example", false), ("evil.example:8081", false),
        ("localhost.evil.example", false),
        ("127.0.0.1.evil.example", false), ("127.0.0.1:80a", false), ("127.0.0.1@evil.example", false), ("[::1", false),
        ("[evil]:80", false), ("256.0.0.1", false), ("127.1", false),
    ])
    func `given a Host that is a name, which could be rebound to this address, nothing is served`(
        host: String,
        isServed: Bool
    ) async throws {
        try await AdminFixture.run { admin in
            for path in ["/", "/dashboard.js"] {
                let answer = try await admin.caller.send(.GET, path, fields: ["host": host])
                #expect(answer.status == (isServed ? 200 : 403))
                #expect(answer.problem == (isServed ? nil : "admin_forbidden"))
                #expect(!answer.body.contains("evil"))
            }
        }
    }
}
