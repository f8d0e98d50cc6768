import Audit
import Crypto
import Foundation
import Testing
import TokenModel
import TokenStorage

@Suite struct AuditRecordTests {
    private static func record(
        scope: KillScope? = .account(AccountID("al\"ice")),
        reason: String? = "laptop \\ stolen\u{7}\u{7F}, naïve 🐦",
        outcome: AuditOutcome? = nil
    ) -> AuditRecord {
        let entry = AuditEntry(
            .kill,
            by: .admin(at: "127.0.0.1:5"),
            in: "a",
            boot: BootID("b00t"),
            of: scope,
            reason: reason,
            outcome: outcome,
            detail: nil,
            at: WallTime(millisecondsSince1970: 1_767_225_600_250)
        )
        return AuditRecord(entry, number: 7, behind: .none)
    }

    @Test func `the canonical text has all members in the order of their names, as jq writes them`() throws {
        let record = Self.record(outcome: AuditOutcome(of: 6, "done"))
        let zeros = String(repeating: "0", count: 64)
        #expect(
            String(decoding: record.canonical, as: UTF8.self) == #"{"action":"kill","actor":"admin","boot":"b00t","#
                + #""detail":null,"from":"127.0.0.1:5","id":"\#(record.id)","number":7,"of":6,"outcome":"done","#
                + #""previous":"\#(zeros)","reason":"laptop \\ stolen\u0007\u007f, naïve 🐦","replica":"a","#
                + #""scope":{"account":"al\"ice"},"time":"2026-01-01T00:00:00.250Z"}"#
        )
        let digest = SHA256.hash(data: record.canonical).map { byte in
            String(byte / 16, radix: 16) + String(byte % 16, radix: 16)
        }
        #expect(record.hash.digits == digest.joined())
    }

    @Test(arguments: [KillScope.all, .provider(ProviderID("acme")), .account(AccountID("alice"))])
    func `a record reads back as it was, and other bytes do not`(scope: KillScope) throws {
        let record = Self.record(scope: scope)
        #expect(try AuditRecord(decoding: record.encoded()) == record)
        for text in ["", "{}", "null", String(decoding: record.canonical, as: UTF8.self) + " "] {
            let writer = FieldWriter(format: 1)
            writer.write(text)
            #expect(throws: StoreError(.unreadable, "")) { try AuditRecord(decoding: writer.finish()) }
        }
    }

    @Test func `long texts are cut, and a record stays small`() throws {
        let long = String(repeating: "ä", count: 40_000)
        let entry = AuditEntry(
            .reload,
            by: .admin(at: long),
            in: long,
            boot: nil,
            of: nil,
            reason: long,
            outcome: AuditOutcome(of: nil, long),
            detail: long,
            at: WallTime(millisecondsSince1970: 0)
        )
        let record = AuditRecord(entry, number: 1, behind: .none)
        #expect(record.reason?.hasSuffix("ä…") == true)
        #expect(record.reason?.utf8.count ?? 0 <= AuditRecord.longestText)
        #expect(record.canonical.count < 4_096)
    }

    @Test(arguments: ["", "0", String(repeating: "g", count: 64), String(repeating: "A", count: 64)])
    func `only 64 digits in lower case are a hash`(text: String) {
        #expect(AuditHash(text) == nil)
    }
}
