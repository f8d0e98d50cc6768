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
            incarnation: IncarnationID("b00t"),
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

    @Test(arguments: [("kim", true), ("admin", false), (nil, false)])
    func `an administrator's name precedes the address, unless it is missing or the default name`(
        name: String?,
        isSaid: Bool
    ) throws {
        let entry = AuditEntry(
            .reload,
            by: .admin(name, at: "127.0.0.1:5"),
            in: "a",
            incarnation: nil,
            of: nil,
            reason: nil,
            at: WallTime(millisecondsSince1970: 0)
        )
        let record = AuditRecord(entry, number: 7, behind: .none)
        let text = String(decoding: record.canonical, as: UTF8.self)
        #expect(text.contains(isSaid ? #","from":"kim@127.0.0.1:5","id":"# : #","from":"127.0.0.1:5","id":"#))
        let stored = try AuditRecord(decoding: record.encoded())
        #expect(stored == record)
        #expect(stored.name == (isSaid ? "kim" : nil))
        #expect(stored.from == "127.0.0.1:5")
        #expect(stored.hash == record.hash)
    }

    /// A record as the version before administrator names reads and hashes it.
    private struct RecordWithoutName: Codable {
        let action, actor: String
        let boot, detail, from: String?
        let id: String
        let number: UInt64
        let of: UInt64?
        let outcome: String?
        let previous: String
        let reason: String?
        let replica: String
        let scope: [String: String]?
        let time: String

        static let members: Set = [
            "action", "actor", "boot", "detail", "from", "id", "number", "of", "outcome", "previous", "reason",
            "replica", "scope", "time",
        ]
    }

    @Test(arguments: ["127.0.0.1:5", "unix socket, uid 1001", nil])
    func `a record with a name has only members that a version without names knows`(address: String?) throws {
        let entry = AuditEntry(
            .kill,
            by: .admin("kim.2_x-y", at: address),
            in: "a",
            incarnation: IncarnationID("b00t"),
            of: .account(AccountID("alice")),
            reason: "drill",
            outcome: AuditOutcome(of: 6, "done"),
            at: WallTime(millisecondsSince1970: 0)
        )
        let record = AuditRecord(entry, number: 7, behind: .none)
        var reader = try FieldReader(record.encoded(), formats: 1...1)
        let text: String = try reader.read()
        try reader.finish()
        let bytes = Data(text.utf8)
        let members = try #require(JSONSerialization.jsonObject(with: bytes) as? [String: Any])
        #expect(Set(members.keys) == RecordWithoutName.members)
        let old = try JSONDecoder().decode(RecordWithoutName.self, from: bytes)
        #expect(old.from == "kim.2_x-y@\(address ?? "")")
        let stored = try AuditRecord(decoding: record.encoded())
        #expect(stored == record)
        #expect(stored.name == "kim.2_x-y" && stored.from == address)
    }

    @Test(arguments: [AuditActor.stranger(at: "a@b"), .gateway("a@b"), .admin(at: "[fe80::1]@b"), .admin(at: "@b")])
    func `an at sign that does not follow an administrator's name stays in the address`(actor: AuditActor) throws {
        let entry = AuditEntry(
            .reload,
            by: actor,
            in: "a",
            incarnation: nil,
            of: nil,
            reason: nil,
            at: WallTime(millisecondsSince1970: 0)
        )
        let record = AuditRecord(entry, number: 1, behind: .none)
        let stored = try AuditRecord(decoding: record.encoded())
        #expect(stored == record)
        #expect(stored.name == nil)
    }

    @Test(arguments: [
        AuditActor.admin("kim", at: "127.0.0.1:5"), .admin("kim", at: nil), .admin("kim", at: "unix socket"),
        .admin(at: "127.0.0.1:5"), .admin(at: nil),
    ])
    func `an actor is remembered with name and address`(actor: AuditActor) {
        #expect(AuditActor.admin(rememberedBy: actor.memo) == actor)
    }

    @Test(arguments: [KillScope.all, .provider(ProviderID("acme")), .account(AccountID("alice"))])
    func `a record is decoded as it was encoded, and other bytes are refused`(scope: KillScope) throws {
        let record = Self.record(scope: scope)
        #expect(try AuditRecord(decoding: record.encoded()) == record)
        for text in ["", "{}", "null", String(decoding: record.canonical, as: UTF8.self) + " "] {
            let writer = FieldWriter(format: 1)
            writer.write(text)
            #expect(throws: StoreError(.unreadable, "")) { try AuditRecord(decoding: writer.finish()) }
        }
    }

    @Test func `long texts are truncated, and a record stays small`() throws {
        let long = String(repeating: "ä", count: 40_000)
        let entry = AuditEntry(
            .reload,
            by: .admin(at: long),
            in: long,
            incarnation: nil,
            of: nil,
            reason: long,
            outcome: AuditOutcome(of: nil, long),
            detail: long,
            at: WallTime(millisecondsSince1970: 0)
        )
        let record = AuditRecord(entry, number: 1, behind: .none)
        #expect(record.reason?.hasSuffix("ä…") == true)
        #expect(record.reason?.utf8.count ?? 0 <= AuditRecord.longestText)
        #expect(record.detail?.utf8.count ?? 0 <= AuditRecord.longestDetail)
        #expect(record.canonical.count < 4_096 + AuditRecord.longestDetail)
    }

    @Test(arguments: ["", "0", String(repeating: "g", count: 64), String(repeating: "A", count: 64)])
    func `only 64 lowercase hexadecimal digits are a hash`(text: String) {
        #expect(AuditHash(text) == nil)
    }
}
