import NIOCore
import Proxy
import Telemetry
import TestKit
import Testing
import TokenModel

/// Log entries about admitted and refused requests. They tell the operator more than the response tells the caller.
@Suite struct RefusalReasonTests {
    /// The access log entries for requests that are sent one after another, each on its own connection.
    private func lines(
        callers: [CallerConfiguration]?,
        _ requests: [String],
        answered statuses: [Int]
    ) async throws -> [String] {
        let output = try CapturedOutput()
        let log = LogWriter(to: LogOutput(descriptor: output.descriptor), format: .text) {
            LogClock(now: WallTime(millisecondsSince1970: 0), bootNow: .now)
        }
        var setup = Rig.Setup()
        setup.accessLog = log
        setup.callers = callers
        try await withRig(setup) { rig in
            for (request, status) in zip(requests, statuses) {
                let caller = try await rig.caller()
                try await caller.send("\(request)\r\n\r\n")
                if status == 204 {
                    let upstream = try await rig.upstream.accept()
                    _ = try await upstream.head()
                    try await upstream.send("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
                }
                #expect(try await caller.head().status == status)
                caller.close()
            }
        }
        #expect(await log.close(within: patience))
        return output.lines
    }

    @Test func `the log entry of a request names its caller and the reason for a refusal`() async throws {
        let lines = try await self.lines(
            callers: [
                CallerConfiguration(name: "reports", keys: [try .of("one")]),
                CallerConfiguration(name: "elsewhere", keys: [try .of("two")], routes: ["own-host"]),
                CallerConfiguration(name: "bobs", keys: [try .of("three")], accounts: [.name(AccountID("bob"))]),
                CallerConfiguration(name: "writer", keys: [try .of("four")], methods: ["POST"]),
            ],
            ["one", "two", "three", "four", "wrong"].map { "GET /acme/ HTTP/1.1\r\nHost: a\r\nMartlet-Key: \($0)" },
            answered: [204, 403, 403, 403, 401]
        )
        try #require(lines.count == 5)
        #expect(
            lines[0].contains(" http.method=GET route.name=acme caller.name=reports account.name=alice http.status=204")
        )
        for (line, (name, reason)) in zip(
            lines[1...3],
            [
                ("elsewhere", "the caller may not use the route"),
                ("bobs", "the caller may not use the route's account"),
                ("writer", "the caller may not use the method"),
            ]
        ) {
            #expect(line.contains(" http.method=GET route.name=acme caller.name=\(name) http.status=403"))
            #expect(line.hasSuffix(" error.code=caller_forbidden error.reason=\"\(reason)\""))
        }
        #expect(!lines[4].contains("caller.name") && !lines[4].contains("route.name"))
    }

    @Test func `a caller that speaks TLS to a plain listener gets 400, and the log entry says why`() async throws {
        let lines = try await self.lines(callers: nil, ["\u{16}\u{03}\u{01}\u{02}"], answered: [400])
        #expect(lines.count == 1)
        #expect(lines.allSatisfy { $0.contains("error.code=bad_request error.reason=\"TLS on a listener without tls") })
    }

    @Test(arguments: ["X-HTTP-Method-Override", "x-http-method", "X-Method-Override"])
    func `a method in an override field is judged like the request's own method`(field: String) async throws {
        let writer = CallerConfiguration(name: "writer", keys: [try .of("one")], methods: ["POST", "PATCH"])
        let any = CallerConfiguration(name: "any", keys: [try .of("two")])
        let requests = [
            ("one", "DELETE"), ("one", "PATCH"), ("one", "patch"), ("one", ""), ("one", "PATCH, POST"),
            ("two", "DELETE"),
            ("two", "x-custom"), ("two", "TRACE"), ("two", "Connect"), ("two", "GET, TRACE"), ("two", ""),
        ]
        let lines = try await self.lines(
            callers: [writer, any],
            requests.map { key, method in
                "POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nMartlet-Key: \(key)\r\n\(field): \(method)"
            },
            answered: [403, 204, 204, 403, 403, 204, 204, 403, 403, 403, 403]
        )
        #expect(
            lines.map { $0.contains("error.reason=\"the caller may not use the method\"") } == [
                true, false, false, true, true, false, false, true, true, true, true,
            ]
        )
    }

    @Test func `without callers TRACE in an override field is refused, because the upstream would echo the token`()
        async throws
    {
        let lines = try await self.lines(
            callers: nil,
            ["TRACE", "PUT"].map {
                "POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nX-HTTP-Method-Override: \($0)"
            },
            answered: [403, 204]
        )
        #expect(lines.map { $0.contains("error.code=caller_forbidden") } == [true, false])
    }

    @Test func `a request that fails to authenticate is not logged under the connection's earlier caller`() async throws
    {
        let output = try CapturedOutput()
        let log = LogWriter(to: LogOutput(descriptor: output.descriptor), format: .text) {
            LogClock(now: WallTime(millisecondsSince1970: 0), bootNow: .now)
        }
        var setup = Rig.Setup()
        setup.accessLog = log
        setup.callers = [CallerConfiguration(name: "reports", keys: [try .of("one")])]
        try await withRig(setup) { rig in
            let caller = try await rig.caller()
            for (key, status) in [("one", 404), ("two", 401)] {
                try await caller.send("GET /nowhere HTTP/1.1\r\nHost: a\r\nMartlet-Key: \(key)\r\n\r\n")
                #expect(try await caller.answer().head.status == status)
            }
        }
        #expect(await log.close(within: patience))
        #expect(output.lines.map { $0.contains("caller.name=reports") } == [true, false])
    }

    @Test func `without callers the log distinguishes a web page from a foreign host`() async throws {
        let lines = try await self.lines(
            callers: nil,
            [
                "GET /acme/ HTTP/1.1\r\nHost: canary.example",
                "GET /acme/ HTTP/1.1\r\nHost: a\r\nOrigin: https://canary.example",
                "GET /acme/ HTTP/1.1\r\nHost: a\r\nSec-Fetch-Site: canary",
            ],
            answered: [403, 403, 403]
        )
        try #require(lines.count == 3)
        #expect(lines[0].contains("Host is none of the listener's; send localhost or its address, or name callers"))
        #expect(lines[1].contains("error.reason=\"Origin says that a web page may have sent the request\""))
        #expect(lines[2].contains("error.reason=\"Sec-Fetch-Site says that a web page may have sent the request\""))
        #expect(lines.allSatisfy { !$0.contains("canary") && !$0.contains("caller.name") })
    }

    @Test func `the response to a foreign host names the reason, which is no secret`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: canary.example\r\n\r\n")
            let (head, body) = try await caller.answer()
            #expect(head.status == 403)
            #expect(body.contains("send localhost or its address") && !body.contains("canary"))
        }
    }

    @Test(arguments: [
        (true, "its tokens were killed or removed, and it waits for new ones"), (false, "it has no tokens yet"),
    ])
    func `an account whose tokens were killed is distinguished from one that never had tokens`(
        wasEmptied: Bool,
        reason: String
    ) async throws {
        try await withRig(Rig.Setup(credential: nil)) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            question.answer(.failure(CredentialError(.accountEmpty, "empty", wasEmptied: wasEmptied)))
            let (head, body) = try await caller.answer()
            #expect(head.status == 503)
            #expect(body.contains("urn:martlet:error:account_empty") && body.contains(reason))
        }
    }

    @Test(
        arguments: [
            (nil, "be reached or says later"), (.account, "the account was refreshed too often"),
            (.provider, "refresh_rate lets through"),
        ] as [(CredentialError.Restraint?, String)]
    )
    func `a refresh held back by the gateway is not blamed on the provider`(
        restraint: CredentialError.Restraint?,
        reason: String
    ) async throws {
        try await withRig(Rig.Setup(credential: nil)) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            question.answer(
                .failure(CredentialError(.refreshFailed, "later", retryAfter: .seconds(9), restraint: restraint))
            )
            let (head, body) = try await caller.answer()
            #expect(head.status == 503 && head["Retry-After"] == "9")
            #expect(body.contains("urn:martlet:error:refresh_failed") && body.contains(reason))
        }
    }

    @Test func `tokens of another client are not called dead`() async throws {
        try await withRig(Rig.Setup(credential: nil)) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let question = try await rig.credentials.questions.next("question")
            question.answer(.failure(CredentialError(.reauthorizationRequired, "elsewhere", isBoundElsewhere: true)))
            let (head, body) = try await caller.answer()
            #expect(head.status == 503)
            #expect(
                body.contains("belong to another client or endpoint") && body.contains("martlet accounts adopt NAME")
            )
            #expect(!body.contains("dead"))
        }
    }
}
