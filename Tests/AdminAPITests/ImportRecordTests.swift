internal import AdminAPI
internal import Audit
internal import NIOHTTP1
internal import TestKit
internal import Testing
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// What the audit log keeps of bulk imports.
@Suite struct ImportRecordTests {
    private struct Page: Decodable {
        let audit: [Record]

        struct Record: Decodable {
            let action: String
            let outcome: String?
            let detail: String?
            let scope: [String: String]?
        }
    }

    private static func records(of admin: AdminFixture) async throws -> [Page.Record] {
        try await admin.caller.send(.GET, "/v1/audit").read(Page.self).audit
    }

    @Test func `a batch has one record before it and one after, with names and numbers`() async throws {
        try await AdminFixture.run { admin in
            _ = try await admin.importLines("\(ImportText.alice)\ncanary\n\(ImportText.bob)\n\(ImportText.alice)\n")

            let records = try await Self.records(of: admin)
            #expect(records.map(\.action) == ["import", "import"])
            #expect(records.map(\.outcome) == [nil, "done"])
            #expect(records.first?.detail == "3 accounts: alice, bob, alice")
            #expect(records.last?.detail == "2 imported, 0 replaced, 1 skipped, 0 refused")
        }
    }

    @Test func `a single account is the scope of its records`() async throws {
        try await AdminFixture.run { admin in
            _ = try await admin.importLines(ImportText.alice)
            #expect(try await Self.records(of: admin).map(\.scope) == [["account": "alice"], ["account": "alice"]])
        }
    }

    @Test func `the record of each batch names all of its accounts`() async throws {
        try await AdminFixture.run { admin in
            let count = RefreshEngine.largestImport
            _ = try await admin.importLines(String(repeating: "\(ImportText.alice)\n", count: count))
            // How the lines fall into batches depends on when they arrive.
            let counts = try await Self.records(of: admin).filter { $0.outcome == nil }.map { record in
                guard record.scope?["account"] == nil else { return 1 }
                let match = try #require(try /(\d+) accounts: (alice(?:, alice)*)/.wholeMatch(in: record.detail ?? ""))
                #expect(match.output.2.split(separator: ",").count == Int(match.output.1))
                return Int(match.output.1) ?? 0
            }
            #expect(counts.reduce(0, +) == count)
        }
    }

    @Test func `the names of the largest batch have room in a record`() {
        let names = RefreshEngine.largestImport * (AccountFamily.longestName + 2)
        #expect(names + 32 <= AuditRecord.longestDetail)
    }

    @Test func `given an audit log that can't be written, nothing is imported`() async throws {
        try await AdminFixture.run { admin in
            admin.store.fail(.full)
            let lines = try await admin.importLines("\(ImportText.alice)\ncanary\n\(ImportText.bob)\n")
            #expect(lines.map(\.reason) == ["audit_unavailable", "invalid_field", "audit_unavailable", nil])
            admin.store.recover()
            #expect(try await admin.vault.read(AccountID("alice")) == nil)
        }
    }
}
