internal import AdminAPI
internal import Audit
internal import NIOHTTP1
internal import TestKit
internal import Testing
internal import TokenModel

/// Approvals over the admin API.
@Suite struct ApprovalRouteTests {
    private static let order = #"{"account":"alice"}"#
    private static let listed =
        #"[{"account":"alice","until":"2025-11-21T00:15:00.123Z","waiting":false},"#
        + #"{"account":"bob","until":null,"waiting":true}]"#

    @Test func `an approval says until when it holds, and is recorded with who gave it`() async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.POST, "/v1/approvals", Self.order)
            #expect(answer.status == 200)
            #expect(answer.body == #"{"account":"alice","until":"2025-11-21T00:15:00.123Z"}"# + "\n")
            #expect(admin.approvals.approved.count == 1)
            #expect(admin.approvals.approved.first?.hasPrefix("alice by 127.0.0.1:") == true)
            let audit = try await admin.caller.send(.GET, "/v1/audit").body
            #expect(audit.contains(#""action":"approve""#))
            #expect(audit.contains(#""detail":"until 2025-11-21T00:15:00.123Z""#))
        }
    }

    @Test func `the accounts that need approvals are listed by name, also in the status`() async throws {
        try await AdminFixture.run { (admin) async throws in
            #expect(try await admin.caller.send(.GET, "/v1/approvals").body == "{\"approvals\":\(Self.listed)}\n")
            #expect(try await admin.caller.send(.GET, "/v1/status").body.contains("\"approvals\":\(Self.listed)"))
        }
    }

    @Test(
        arguments: [
            (.notRequired, "conflict", 409), (.killed, "conflict", 409), (.unknownAccount, "not_found", 404),
            (.storeLost, "store_lost", 503),
        ] as [(ApprovalRefusal.Code, String, Int)]
    )
    func `an account that can't be approved says why`(
        code: ApprovalRefusal.Code,
        problem: String,
        status: Int
    ) async throws {
        try await AdminFixture.run { admin in
            admin.approvals.fail(ApprovalRefusal(code, "that failed"))
            let answer = try await admin.caller.send(.POST, "/v1/approvals", Self.order)
            #expect(answer.problem == problem)
            #expect(answer.status == status)
        }
    }

    @Test func `an unknown name is refused with a suggestion, and not recorded`() async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.POST, "/v1/approvals", #"{"account":"alise"}"#)
            #expect(answer.status == 404)
            #expect(answer.detail?.hasSuffix("; did you mean alice?") == true)
            #expect(admin.approvals.approved.isEmpty)
            #expect(try await admin.audit.log.lastNumber() == 0)
        }
    }

    @Test func `a member of a family that does not exist is refused, and not recorded`() async throws {
        try await AdminFixture.run { admin in
            let answer = try await admin.caller.send(.POST, "/v1/approvals", #"{"account":"customer-1"}"#)
            #expect(answer.problem == "not_found")
            #expect(admin.approvals.approved.isEmpty)
            #expect(try await admin.audit.log.lastNumber() == 0)
        }
    }

    @Test func `an approval that can't be recorded is not given`() async throws {
        try await AdminFixture.run { admin in
            admin.store.fail(.away)
            let answer = try await admin.caller.send(.POST, "/v1/approvals", Self.order)
            #expect(answer.problem == "audit_unavailable")
            #expect(admin.approvals.approved.isEmpty)
            admin.store.recover()
        }
    }
}
