internal import AdminAPI
internal import Audit
internal import KillSwitch
internal import NIOHTTP1
internal import OAuth
internal import TestKit
internal import Testing
internal import TokenModel
internal import TokenStorage

/// The admin API records the changes that operators make, and shows the records.
@Suite struct AuditRouteTests {
    private struct Page: Decodable {
        struct Record: Decodable {
            struct Scope: Decodable {
                let all: Bool?
                let account: String?
            }

            let number: UInt64
            let action: String
            let actor: String
            let from: String?
            let scope: Scope?
            let reason: String?
            let outcome: String?
            let of: UInt64?
            let detail: String?
            let hash: String
            let previous: String
        }

        let audit: [Record]
        let next: UInt64?
        let last: UInt64
    }

    private static let tokens = #"{"refresh_token":"rt-canary","access_token":"at-canary"}"#

    private static func page(_ admin: AdminFixture, _ query: String = "") async throws -> Page {
        try await admin.caller.send(.GET, "/v1/audit\(query)").read(Page.self)
    }

    /// The keys written since `count`, without those that the kill switch writes for itself.
    private static func changes(in admin: AdminFixture, since count: Int) -> [RecordKey] {
        admin.store.history.written.dropFirst(count).filter { key in
            !RecordKey.Prefix.replicas.contains(key) && !RecordKey.Prefix.revocations.contains(key)
        }
    }

    /// Adds a replica of another host that no longer responds.
    private static func loseReplica(to admin: AdminFixture) async throws -> ReplicaVault.Entry {
        let record = ReplicaRecord(
            incarnation: .random(),
            name: "lost",
            lease: .seconds(10),
            joinedAt: Timepiece.system.now.wall
        )
        return try await ReplicaVault(admin.records).write(record, for: .random(), expecting: nil)
    }

    @Test func `I20_every change has a record before its effect, and one of its outcome`() async throws {
        try await AdminFixture.run { admin in
            let grant = TokenGrant(accessToken: Secret("next-canary"), refreshToken: nil, lifetime: .seconds(3_600))
            admin.provider.answer(with: .success(grant))
            let changes: [(HTTPMethod, String, String?)] = [
                (.PUT, "/v1/accounts/alice/tokens", Self.tokens), (.POST, "/v1/accounts/alice/refresh", nil),
                (.POST, "/v1/accounts/alice/adopt", nil), (.DELETE, "/v1/accounts/alice/tokens", nil),
            ]
            for (method, path, body) in changes {
                let before = admin.store.history.written.count
                let answer = try await admin.caller.send(method, path, body)
                #expect(answer.status == 200, "\(path)")
                let written = Self.changes(in: admin, since: before)
                #expect(written.first.map(RecordKey.Prefix.audit.contains) == true, "\(path): \(written)")
            }
            let beforeKill = admin.store.history.written.count
            _ = try await admin.caller.send(.POST, "/v1/kill", #"{"scope":{"all":true},"reason":"drill"}"#)
            // A kill does not wait for its record, but both records exist when it responds.
            let writtenByKill = Self.changes(in: admin, since: beforeKill)
            #expect(writtenByKill.contains(where: RecordKey.Prefix.kills.contains))
            #expect(writtenByKill.count(where: RecordKey.Prefix.audit.contains) == 2, "\(writtenByKill)")
            let before = admin.store.history.written.count
            _ = try await admin.caller.send(.POST, "/v1/revive", #"{"scope":{"all":true},"reason":"over"}"#)
            // The kill may still write its own keys, such as its end, before these two.
            let writtenByRevival = Self.changes(in: admin, since: before)
            let recorded = try #require(writtenByRevival.firstIndex(where: RecordKey.Prefix.audit.contains))
            let revived = try #require(writtenByRevival.firstIndex(where: RecordKey.Prefix.kills.contains))
            #expect(recorded < revived, "\(writtenByRevival)")

            let lost = try await Self.loseReplica(to: admin)
            let beforeForgetting = admin.store.history.written.count
            #expect(try await admin.caller.send(.DELETE, "/v1/replicas/lost").status == 200)
            let writtenByForgetting = admin.store.history.written.dropFirst(beforeForgetting)
            let announced = try #require(writtenByForgetting.firstIndex(where: RecordKey.Prefix.audit.contains))
            let expelled = try #require(writtenByForgetting.firstIndex(of: .replica(lost.id.rawValue)))
            #expect(announced < expelled)

            let page = try await Self.page(admin)
            #expect(
                page.audit.map(\.action)
                    == ["import", "refresh", "adopt", "remove", "kill", "revive", "forget_replica"].flatMap {
                        [$0, $0]
                    }
            )
            for index in stride(from: 0, to: page.audit.count - 1, by: 2) {
                let (begin, end) = (page.audit[index], page.audit[index + 1])
                #expect(begin.outcome == nil)
                #expect(end.outcome == (begin.action == "kill" ? "complete" : "done"))
                #expect(end.of == begin.number)
                #expect(begin.actor == "admin")
                #expect(begin.from?.hasPrefix("127.0.0.1:") == true)
            }
            #expect(page.audit[0].scope?.account == "alice")
            #expect(page.audit[3].detail == "valid")
            #expect(page.audit[7].detail == "refresh revoked, access revoked")
            #expect(page.audit[8].scope?.all == true)
            #expect(page.audit[8].reason == "drill")
            // The record names the replica before the change has an effect.
            #expect(page.audit[12].detail == "replica lost, boot \(lost.record.incarnation.rawValue)")
            #expect(page.audit[13].detail?.hasPrefix("it goes at ") == true)
            for (first, second) in zip(page.audit, page.audit.dropFirst()) { #expect(second.previous == first.hash) }
        }
    }

    @Test func `I20_a change that can't be recorded is refused and changes nothing`() async throws {
        try await AdminFixture.run { admin in
            try await admin.caller.send(.PUT, "/v1/accounts/alice/tokens", Self.tokens)
            try await admin.caller.send(.POST, "/v1/kill", #"{"scope":{"account":"bob"},"reason":"drill"}"#)
            _ = try await Self.loseReplica(to: admin)
            admin.store.fail(.full, under: .audit)
            // The count of the kill's tokens is written in the background.
            func writes() -> Int { admin.store.history.written.count { !$0.rawValue.hasPrefix("kill-tallies/") } }
            let before = writes()
            let changes: [(HTTPMethod, String, String?)] = [
                (.PUT, "/v1/accounts/alice/tokens", #"{"refresh_token":"other-canary"}"#),
                (.POST, "/v1/accounts/alice/refresh", nil), (.POST, "/v1/accounts/alice/adopt", nil),
                (.DELETE, "/v1/accounts/alice/tokens", nil),
                (.POST, "/v1/revive", #"{"scope":{"account":"bob"},"reason":"over"}"#),
                (.DELETE, "/v1/replicas/lost", nil),
            ]
            for (method, path, body) in changes {
                let answer = try await admin.caller.send(method, path, body)
                #expect(answer.status == 503, "\(path)")
                #expect(answer.problem == "audit_unavailable", "\(path)")
                #expect(answer.detail?.contains("the disk is full") == true)
            }
            #expect(writes() == before)
            #expect(admin.provider.redeemed.isEmpty)
            #expect(admin.provider.revokedTokens.isEmpty)
            #expect(admin.kills.killedScopes == [.account(AccountID("bob"))])
            let lost = try await admin.kills.listReplicas().first { $0.record.name == "lost" }
            #expect(lost?.record.isExpelled == false)
        }
    }

    @Test func `I20_a kill goes ahead without a record and logs an error`() async throws {
        try await AdminFixture.run { admin in
            admin.store.fail(.full, under: .audit)
            let order = #"{"scope":{"account":"alice"},"reason":"drill"}"#
            let answer = try await admin.caller.send(.POST, "/v1/kill", order)
            #expect(answer.status == 200)
            #expect(answer.body.contains(#""state":"complete""#))
            #expect(answer.body.contains(#""audited":false"#))
            #expect(admin.kills.killedScopes == [.account(AccountID("alice"))])
            #expect(admin.logs.lines.contains { $0.hasPrefix("error a kill goes ahead without a record") })

            // If only the announcement could not be recorded, the record of the outcome contains everything.
            admin.store.recover()
            admin.store.fail(.full, [.write], under: .audit, times: 1)
            let second = try await admin.caller.send(.POST, "/v1/kill", order)
            #expect(second.body.contains(#""audited":true"#))
            let page = try await Self.page(admin)
            #expect(page.audit.count == 1)
            let only = try #require(page.audit.first)
            #expect(only.action == "kill")
            #expect(only.outcome == "complete")
            #expect(only.of == nil)
            #expect(only.reason == "drill")
        }
    }

    @Test func `a failed change is recorded with its error code`() async throws {
        try await AdminFixture.run { admin in
            try await admin.caller.send(.POST, "/v1/kill", #"{"scope":{"all":true},"reason":"drill"}"#)
            #expect(try await admin.caller.send(.PUT, "/v1/accounts/alice/tokens", Self.tokens).status == 409)
            let last = try #require(try await Self.page(admin).audit.last)
            #expect(last.action == "import")
            #expect(last.outcome == "conflict")
        }
    }

    @Test(arguments: [
        (#"{"refresh_token":"rt-canary","access_token":"at-canary"}"#, "config", "provider_config", "valid, config."),
        (#"{"refresh_token":"rt-canary","access_token":"at-canary"}"#, "refused", "refresh_failed", ", refused."),
        (#"{"refresh_token":"rt-canary"}"#, "dead", "reauthorization_required", "reauthorization_required, "),
    ])
    func `a refused refresh is not recorded as done`(
        tokens: String,
        answer: String,
        outcome: String,
        detail: String
    ) async throws {
        try await AdminFixture.run { admin in
            try await admin.caller.send(.PUT, "/v1/accounts/alice/tokens", tokens)
            let code = try #require(VerdictReason("some_code"))
            let verdict: TokenVerdict =
                switch answer {
                case "config": .config(code)
                case "refused": .refused(code)
                default: .dead(code)
                }
            admin.provider.answer(with: verdict)

            let refreshed = try await admin.caller.send(.POST, "/v1/accounts/alice/refresh")

            #expect(refreshed.status == 200)
            let last = try #require(try await Self.page(admin).audit.last)
            #expect(last.action == "refresh")
            #expect(last.outcome == outcome)
            #expect(last.detail?.contains(detail) == true, "\(last.detail ?? "")")
        }
    }

    @Test func `a refresh that a store failure prevents is recorded as store_lost despite a valid token`() async throws
    {
        try await AdminFixture.run { admin in
            // Given a valid token, and a store that no longer accepts account records
            try await admin.caller.send(.PUT, "/v1/accounts/alice/tokens", Self.tokens)
            admin.store.fail(.full, under: .accounts)

            // When it is refreshed
            let refreshed = try await admin.caller.send(.POST, "/v1/accounts/alice/refresh")

            // Then nothing was sent, and the record names the store as the reason
            #expect(refreshed.status == 200)
            #expect(admin.provider.redeemed.isEmpty)
            let last = try #require(try await Self.page(admin).audit.last)
            #expect(last.outcome == "store_lost")
            #expect(last.detail == "valid, store_lost")
        }
    }

    @Test func `a refresh over the limit is recorded as failed, with the reason`() async throws {
        let clock = ManualClock()
        try await AdminFixture.run(refreshing: Timepiece(ages: clock, wall: { clock.wall })) { admin in
            // Given an account that has used all its refreshes for this period
            try await admin.caller.send(.PUT, "/v1/accounts/alice/tokens", Self.tokens)
            for number in 1...5 {
                admin.provider.answer(
                    with: .success(
                        TokenGrant(
                            accessToken: Secret("canary-\(number)"),
                            refreshToken: nil,
                            lifetime: .seconds(3_600)
                        )
                    )
                )
                try await admin.caller.send(.POST, "/v1/accounts/alice/refresh")
            }

            // When it is refreshed once more
            try await admin.caller.send(.POST, "/v1/accounts/alice/refresh")

            // Then the earlier refreshes are done, and this one failed
            let ends = try await Self.page(admin).audit.filter { $0.action == "refresh" && $0.outcome != nil }
            #expect(ends.map(\.outcome) == ["done", "done", "done", "done", "done", "refresh_failed"])
            #expect(ends.last?.detail == "valid, refresh_limit")
            #expect(admin.provider.redeemed.count == 5)
        }
    }

    @Test func `a refresh that does not end in time is recorded as pending`() async throws {
        try await AdminFixture.run(longestWait: .milliseconds(100)) { admin in
            // Given a provider that does not respond
            try await admin.caller.send(.PUT, "/v1/accounts/alice/tokens", Self.tokens)
            admin.provider.hold(at: Gate())

            // When the refresh takes longer than the longest wait
            try await admin.caller.send(.POST, "/v1/accounts/alice/refresh")

            // Then the refresh is recorded as pending, not as done or failed
            let last = try #require(try await Self.page(admin).audit.last)
            #expect(last.action == "refresh")
            #expect(last.outcome == "pending")
        }
    }

    @Test func `a token that was pasted in place of a name is not recorded`() async throws {
        try await AdminFixture.run { admin in
            let requests: [(HTTPMethod, String, String?)] = [
                (.POST, "/v1/accounts/rt-canary/refresh", nil), (.POST, "/v1/accounts/rt-canary/adopt", nil),
                (.DELETE, "/v1/accounts/rt-canary/tokens", nil),
                (.POST, "/v1/kill", #"{"scope":{"account":"rt-canary"},"reason":"drill"}"#),
                (.POST, "/v1/kill", #"{"scope":{"provider":"rt-canary"},"reason":"drill"}"#),
                (.POST, "/v1/revive", #"{"scope":{"account":"rt-canary"},"reason":"drill"}"#),
            ]
            for (method, path, body) in requests {
                let answer = try await admin.caller.send(method, path, body)
                #expect(answer.status == 404)
            }
            let page = try await Self.page(admin)
            #expect(page.audit.isEmpty)
        }
    }

    @Test func `records come in pages that next links`() async throws {
        try await AdminFixture.run { admin in
            for _ in 0..<3 { try await admin.caller.send(.PUT, "/v1/accounts/alice/tokens", Self.tokens) }
            let first = try await Self.page(admin, "?limit=4")
            #expect(first.audit.map(\.number) == [1, 2, 3, 4])
            #expect(first.next == 4)
            #expect(first.last == 6)
            let second = try await Self.page(admin, "?after=4&limit=4")
            #expect(second.audit.map(\.number) == [5, 6])
            #expect(second.next == nil)
            #expect(try await Self.page(admin, "?after=6").audit.isEmpty)
            #expect(try await admin.caller.send(.HEAD, "/v1/audit").status == 200)
            #expect(try await admin.caller.send(.POST, "/v1/audit").status == 405)
        }
    }

    @Test(arguments: [
        "after", "after=", "after=-1", "after=+1", "limit=0", "limit=1001", "limit=1&limit=2", "before=1",
        "after=1&",
        "after=18446744073709551616", "limit=%31",
    ])
    func `an invalid query is refused`(query: String) async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.GET, "/v1/audit?\(query)")
            #expect(answer.status == 400)
            #expect(answer.field == "query")
        }
    }

    @Test func `many wrong tokens are one record, and missing tokens are not recorded`() async throws {
        try await AdminFixture.run { admin in
            for _ in 0..<20 { try await admin.caller.send(.GET, "/v1/status", authorization: nil) }
            for _ in 0..<30 { try await admin.caller.send(.GET, "/v1/status", authorization: "Bearer wrong-canary") }
            try await eventually("the record") { try await !Self.page(admin).audit.isEmpty }
            let page = try await Self.page(admin)
            #expect(page.audit.count == 1)
            #expect(page.audit.first?.action == "refused_tokens")
            #expect(page.audit.first?.actor == "stranger")
            #expect(page.audit.first?.detail?.contains("with a wrong admin token") == true)
        }
    }

    @Test func `an unavailable store is reported, not shown as an empty log`() async throws {
        try await AdminFixture.run { admin in
            admin.store.fail(.away)
            let answer = try await admin.caller.send(.GET, "/v1/audit")
            #expect(answer.status == 503)
            #expect(answer.problem == "store_lost")
        }
    }
}
