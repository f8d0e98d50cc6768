internal import AdminAPI
internal import KillSwitch
internal import NIOHTTP1
internal import TestKit
internal import Testing
internal import TokenModel
internal import TokenStorage

/// The lock over the admin API, and what else is left of the API while the gateway is locked.
@Suite struct LockRouteTests {
    private static let since = WallTime(millisecondsSince1970: 1_763_683_200_123)
    private static let kill = #"{"scope":{"account":"alice"},"reason":"drill","streams":"drain"}"#

    private static let locked = LockStatus(
        .locked,
        since: since,
        reason: "the host moves",
        by: "olga@127.0.0.1:1",
        isForAllReplicas: true,
        needs: .passphrase,
        waitsFor: "the command pass: exit code 2",
        lostAccounts: [AccountID("bob")],
        otherReplicas: [KillReport.Replica(name: "b", state: .pending, until: since)],
        isKept: true
    )

    @Test func `given a lock, its state is shown with all that belongs to it`() async throws {
        try await AdminFixture.run { admin in
            admin.close(Self.locked)
            let answer = try await admin.caller.send(.GET, "/v1/lock")
            #expect(answer.status == 200)
            #expect(
                answer.body == #"{"all_replicas":true,"by":"olga@127.0.0.1:1","complete":false,"kept":true,"#
                    + #""lost_accounts":["bob"],"needs":"passphrase","open_accounts":[],"reason":"the host moves","#
                    + #""replicas":[{"name":"b","state":"pending","until":"2025-11-21T00:00:00.123Z"}],"#
                    + #""since":"2025-11-21T00:00:00.123Z","state":"locked","waits_for":"the command pass: exit code 2"}"#
                    + "\n"
            )
        }
    }

    @Test(
        arguments: [
            (LockStatus(.open), false), (LockStatus(.unlocking), false), (LockStatus(.locked), true),
            (LockStatus(.locking, openAccounts: [AccountID("alice")]), false),
            (LockStatus(.locked, otherReplicas: [KillReport.Replica(name: "b", state: .pending)]), false),
            (LockStatus(.locked, otherReplicas: [KillReport.Replica(name: "b", state: .acknowledged)]), true),
        ] as [(LockStatus, Bool)]
    )
    func `a lock is complete when no replica that it is for is left`(status: LockStatus, isComplete: Bool) async throws
    {
        try await AdminFixture.run { admin in
            admin.lock.set(status)
            let body = try await admin.caller.send(.GET, "/v1/lock").body
            #expect(body.contains(#""complete":\#(isComplete),"#))
            #expect(body.contains(#""state":"\#(status.state.rawValue)","#))
        }
    }

    @Test(
        arguments: [
            (#"{"reason":"drill"}"#, LockOrder(reason: "drill")),
            (#"{"reason":"drill","all_replicas":null,"now":null}"#, LockOrder(reason: "drill")),
            (
                #"{"reason":"drill","all_replicas":true,"now":true}"#,
                LockOrder(reason: "drill", isForAllReplicas: true, isNow: true)
            ),
        ] as [(String, LockOrder)]
    )
    func `an order to lock arrives as it was given, with who gave it`(body: String, order: LockOrder) async throws {
        try await AdminFixture.run { admin in
            admin.lock.set(LockStatus(.locking, openAccounts: [AccountID("alice")]))
            let answer = try await admin.caller.send(.POST, "/v1/lock", body)
            #expect(answer.status == 200)
            #expect(answer.body.contains(#""open_accounts":["alice"]"#))
            #expect(admin.lock.orders == [order])
            #expect(admin.lock.actors.first??.hasPrefix("127.0.0.1:") == true)
        }
    }

    @Test(arguments: [
        ("/v1/lock", "", "body"), ("/v1/lock", "{}", "reason"), ("/v1/lock", #"{"reason":" "}"#, "reason"),
        ("/v1/lock", #"{"reason":"a","now":1}"#, "now"), ("/v1/lock", #"{"reason":"a","all":true}"#, "all"),
        ("/v1/unlock", "[]", "body"), ("/v1/unlock", #"{"passphrase":""}"#, "passphrase"),
        ("/v1/unlock", #"{"passphrase":7}"#, "passphrase"), ("/v1/unlock", #"{"key":""}"#, "key"),
        ("/v1/unlock", "{\"passphrase\":\"\(String(repeating: "é", count: 513))\"}", "passphrase"),
        ("/v1/unlock", "{\"key\":\"\(String(repeating: "k", count: 65_537))\"}", "key"),
        ("/v1/unlock", #"{"passphrase":"canary","key":"canary"}"#, "key"), ("/v1/unlock", #"{"keys":"a"}"#, "keys"),
        ("/v1/approvals", "{}", "account"), ("/v1/approvals", #"{"account":"a\u0000"}"#, "account"),
    ])
    func `an invalid order is refused with the name of its field, and nobody is asked`(
        path: String,
        body: String,
        field: String
    ) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.POST, path, body)
            #expect(answer.status == 400)
            #expect(answer.field == field)
            #expect(admin.lock.actors.isEmpty && admin.approvals.approved.isEmpty)
        }
    }

    @Test(
        arguments: [
            ("", nil, nil), ("{}", nil, nil), (#"{"passphrase":null,"key":null}"#, nil, nil),
            (#"{"passphrase":"correct horse canary"}"#, "correct horse canary", nil),
            (#"{"key":"canary=\nolder=\n"}"#, nil, "canary=\nolder=\n"),
        ] as [(String, String?, String?)]
    )
    func `an unlock brings a passphrase, a key or nothing`(body: String, passphrase: String?, key: String?) async throws
    {
        try await AdminFixture.run { admin in
            admin.gateway.replace(with: nil)
            let answer = try await admin.caller.send(.POST, "/v1/unlock", body)
            #expect(answer.status == 200)
            #expect(admin.lock.offers.count == 1)
            switch admin.lock.offers.first {
            case .some(.some(.passphrase(let secret))): #expect(passphrase.map(Secret.init) == secret)
            case .some(.some(.key(let secret))): #expect(key.map(Secret.init) == secret)
            default: #expect(passphrase == nil && key == nil)
            }
        }
    }

    /// Each refusal: the code of the response, its status, its field and when to try again.
    private static func answer(to code: LockError.Code) -> (code: String, status: Int, field: String?, retry: String?) {
        switch code {
        case .alreadyOpen, .alreadyLocked, .busy, .storeRefused: ("conflict", 409, nil, nil)
        case .wrongPassphrase: ("key_refused", 422, "passphrase", nil)
        case .wrongKey: ("key_refused", 422, "key", nil)
        case .keyUnavailable: ("key_unavailable", 503, nil, "3")
        case .tooManyAttempts: ("unlock_limited", 429, nil, "3")
        case .passphraseNeeded, .passphraseTooShort: ("invalid_field", 400, "passphrase", nil)
        case .storeUnreachable: ("store_lost", 503, nil, "3")
        case .unknownScope: ("not_found", 404, nil, nil)
        }
    }

    @Test(arguments: LockError.Code.allCases)
    func `each refusal has its code, and says when to try again if that helps`(code: LockError.Code) async throws {
        try await AdminFixture.run { admin in
            admin.close()
            admin.lock.fail(LockError(code, "that failed", retryAfter: .milliseconds(2_100)))
            let expected = Self.answer(to: code)
            let orders = [
                ("/v1/unlock", #"{"passphrase":"canary"}"#), ("/v1/lock", #"{"reason":"drill"}"#),
                ("/v1/kill", Self.kill),
            ]
            for (path, body) in orders {
                let answer = try await admin.caller.send(.POST, path, body)
                #expect(answer.problem == expected.code)
                #expect(answer.status == expected.status)
                #expect(answer.field == expected.field)
                #expect(answer.detail == "that failed")
                #expect(answer.headers.first(name: "retry-after") == expected.retry)
                // The connection goes on: this is no attempt to guess an admin token.
                #expect(answer.headers["connection"].isEmpty)
            }
        }
    }

    @Test func `given a lock, a kill is kept, and names the replicas that can do it now`() async throws {
        try await AdminFixture.run { admin in
            admin.store.fail(.away)
            let (scope, streams) = (KillScope.account(AccountID("alice")), KillStreams.drain)
            var report = try await admin.kills.kill(scope, reason: "drill", streams: streams, wait: .zero, by: nil)
            (report.store, report.replicas, report.canDoItNow) = (.locked, [], ["b", "c"])
            admin.lock.report(report)
            admin.close()
            let answer = try await admin.caller.send(.POST, "/v1/kill", Self.kill)
            #expect(answer.status == 200)
            for part in [
                #""state":"pending""#, #""store":"locked""#, #""epoch":null"#, #""audited":false"#,
                #""can_do_it_now":["b","c"]"#, #""replicas":[]"#,
            ] {
                #expect(answer.body.contains(part), "\(part)")
            }
            #expect(admin.lock.kills == [ScriptedLock.Kill(scope: scope, reason: "drill", streams: streams)])
            admin.store.recover()
        }
    }

    @Test func `given an open gateway, a kill goes to the kill switch`() async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.POST, "/v1/kill", Self.kill)
            #expect(answer.body.contains(#""state":"complete""#))
            #expect(!answer.body.contains("can_do_it_now"))
            #expect(admin.lock.kills.isEmpty)
        }
    }

    @Test func `given a lock, the process is alive and not ready, and its status says what it waits for`() async throws
    {
        try await AdminFixture.run { admin in
            admin.close(Self.locked)
            let health = try await admin.caller.send(.GET, "/healthz", authorization: nil)
            #expect(health.status == 200)
            #expect(health.body == "{\"alive\":true}\n")
            let readiness = try await admin.caller.send(.GET, "/readyz", authorization: nil)
            #expect(readiness.status == 503)
            #expect(readiness.body.contains(#""locked":true,"ready":false"#))
            #expect(!readiness.body.contains("the host moves"))

            let status = try await admin.caller.send(.GET, "/v1/status")
            #expect(status.status == 200)
            for part in [
                #""ready":false"#, #""accounts":[]"#, #""providers":[]"#, #""killed":[]"#, #""lease_until":null"#,
                #""lock":{"all_replicas":true"#, #""reason":"the host moves""#, #""waits_for":"the command pass"#,
            ] {
                #expect(status.body.contains(part), "\(part)")
            }
            #expect(try await admin.caller.send(.GET, "/metrics").status == 200)
            #expect(try await admin.caller.send(.GET, "/v1/history").status == 200)
            #expect(try await admin.caller.send(.GET, "/openapi.json").status == 200)
        }
    }

    @Test func `given an open gateway, neither readiness nor status speak of a lock`() async throws {
        try await AdminFixture.run { admin in
            let readiness = try await admin.caller.send(.GET, "/readyz", authorization: nil)
            #expect(readiness.status == 200)
            #expect(!readiness.body.contains("locked"))
            #expect(try await !admin.caller.send(.GET, "/v1/status").body.contains(#""lock""#))
        }
    }

    @Test func `given token requests that are still open, callers are not served and the accounts are shown`()
        async throws
    {
        try await AdminFixture.run { admin in
            admin.lock.set(LockStatus(.locking))
            #expect(try await admin.caller.send(.GET, "/readyz", authorization: nil).status == 503)
            let status = try await admin.caller.send(.GET, "/v1/status").body
            #expect(status.contains(#""state":"locking""#) && status.contains(#""name":"alice""#))
            #expect(status.contains(#""ready":false"#))
        }
    }

    @Test(
        arguments: [
            (.GET, "/v1/accounts", nil), (.GET, "/v1/accounts/alice", nil), (.POST, "/v1/accounts/alice/refresh", nil),
            (.PUT, "/v1/accounts/alice/tokens", #"{"refresh_token":"canary"}"#), (.GET, "/v1/kills", nil),
            (.POST, "/v1/revive", #"{"scope":{"all":true},"reason":"over"}"#), (.GET, "/v1/replicas", nil),
            (.GET, "/v1/audit", nil), (.GET, "/v1/cache", nil), (.POST, "/v1/cache/purge", "{}"),
            (.GET, "/v1/approvals", nil), (.POST, "/v1/approvals", #"{"account":"alice"}"#),
        ] as [(HTTPMethod, String, String?)]
    )
    func `given a lock, what needs an open gateway says that it is locked`(
        method: HTTPMethod,
        path: String,
        body: String?
    ) async throws {
        try await AdminFixture.run { admin in
            admin.close()
            let answer = try await admin.caller.send(method, path, body)
            #expect(answer.status == 503)
            #expect(answer.problem == "locked")
            #expect(answer.headers.first(name: "retry-after") == "30")
            #expect(admin.approvals.approved.isEmpty)
        }
    }

    @Test func `given a lock, nobody without a token learns of it from the API`() async throws {
        try await AdminFixture.run { (admin) async throws in
            admin.close()
            for path in ["/v1/lock", "/v1/status", "/v1/accounts", "/v1/approvals"] {
                #expect(try await admin.caller.send(.GET, path, authorization: nil).problem == "admin_unauthorized")
            }
            #expect(
                try await admin.caller.send(.POST, "/v1/unlock", authorization: nil).problem == "admin_unauthorized"
            )
            #expect(admin.lock.offers.isEmpty)
        }
    }
}
