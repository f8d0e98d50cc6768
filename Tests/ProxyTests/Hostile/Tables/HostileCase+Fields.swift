import Proxy

/// Fields that mean something to a gateway: credentials, expectations, and fields about the caller.
extension HostileCase {
    static let meaningfulFields: [HostileCase] = credentials + expectations + forwarding

    private static let credentials: [HostileCase] = [
        .fields(.doubledCredentials, "Authorization: Bearer canary", "Authorization: Bearer canary"),
        .fields(.doubledCredentials, "Authorization: Bearer canary", "Authorization: Basic canary"),
        .fields(.doubledCredentials, "authorization: Basic canary", "X: y", "AUTHORIZATION: Bearer canary"),
        .fields(.doubledCredentials, "Authorization:", "Authorization: Bearer canary"),
        .fields(.doubledCredentials, "Authorization: Bearer canary", "Authorization:"),
        .fields(.doubledCredentials, "Martlet-Key: canary", "Martlet-Key: canary"),
        .fields(.doubledCredentials, "martlet-key: canary", "X: y", "MARTLET-KEY: other"),
        .fields(.doubledCredentials, "Martlet-Key:", "Martlet-Key: canary"),
        .fields(.doubledCredentials, "Martlet-Account: alice", "Martlet-Account: alice"),
        .fields(.doubledCredentials, "Martlet-Account: alice", "Martlet-Key: x", "martlet-account: bob"),
    ]

    private static let expectations: [HostileCase] = oddExpectations.map { lines in
        .raw(
            .expect,
            lines.joined(separator: " | "),
            "POST /acme/x HTTP/1.1\r\nHost: a\r\n" + lines.map { $0 + "\r\n" }.joined()
                + "Content-Length: 3\r\n\r\nabc",
            .expectationFailed
        )
    }

    private static let oddExpectations: [[String]] = [
        ["Expect: something"], ["Expect: 200-ok"], ["Expect: 100-continue, x"], ["Expect: 100-continue;x"],
        ["Expect: x, 100-continue"], ["Expect:"], ["Expect: 100"], ["Expect: \"100-continue\""],
        ["Expect: 100-continue", "Expect: 200-ok"], ["expect: 100-continue\u{80}"],
    ]

    private static let forwarding: [HostileCase] = [
        .passing(
            .forwarding,
            "what tells of the caller goes",
            """
            GET /acme/x HTTP/1.1\r
            X-Forwarded-For: 1.2.3.4\r
            X-FORWARDED-HOST: evil\r
            x-forwarded-proto: https\r
            X-Forwarded-Prefix: /evil\r
            X-Forwarded-: z\r
            Forwarded: for=1.2.3.4;host=evil\r
            Host: a\r
            forwarded: for=b\r
            X-Real-IP: 1.2.3.4\r
            x-real-ip: 1.2.3.4\r
            Accept: b\r
            \r

            """,
            PassedRequest("GET /v2/x", "Accept: b")
        ),
        .passing(
            .forwarding,
            "what names another target or method is not listened to",
            """
            GET /acme/x HTTP/1.1\r
            Host: a\r
            X-Original-URL: /nowhere/admin\r
            X-Rewrite-URL: /nowhere/admin\r
            X-HTTP-Method-Override: DELETE\r
            X-Method-Override: DELETE\r
            X-Forwarded-Host: evil\r
            X-Host: evil\r
            X-Forwarded: no\r
            \r

            """,
            PassedRequest(
                "GET /v2/x",
                "X-HTTP-Method-Override: DELETE",
                "X-Method-Override: DELETE",
                "X-Host: evil",
                "X-Forwarded: no"
            )
        ),
    ]
}
