internal import AdminCLI
internal import Audit
internal import Testing
internal import TokenModel

@Suite struct AuditTextTests {
    private static func record(
        _ number: UInt64,
        behind previous: AuditHash = .none,
        outcome: AuditOutcome? = nil
    ) -> AuditRecord {
        let entry = AuditEntry(
            .revive,
            by: .admin(at: "127.0.0.1:5"),
            in: "a",
            incarnation: nil,
            of: .account(AccountID("alice")),
            reason: outcome == nil ? "laptop\u{1B} replaced" : nil,
            outcome: outcome,
            detail: outcome == nil ? nil : "two",
            at: WallTime(millisecondsSince1970: 1_767_225_600_000)
        )
        return AuditRecord(entry, number: number, behind: previous)
    }

    @Test func `a record is one line, and an unreadable record is marked`() {
        let first = Self.record(1)
        let items: [AuditItem] = [
            .record(first), .record(Self.record(2, behind: first.hash, outcome: AuditOutcome(of: 1, "done"))),
            .unreadable(3),
        ]
        let time = "2026-01-01T00:00:00.000Z"
        #expect(
            AuditText.table(items) == [
                "NO  TIME                      WHO                     ACTION  WHAT           OUTCOME           REASON",
                #"1   \#(time)  admin 127.0.0.1:5 at a  revive  account alice  (begins)          laptop\u{1b} replaced"#,
                "2   \(time)  admin 127.0.0.1:5 at a  revive  account alice  done, begun as 1  two",
                "3   -                         -                       -       -              -                 "
                    + "this record does not open",
            ]
        )
    }

    @Test func `a named administrator is shown by name`() {
        let entry = AuditEntry(
            .reload,
            by: .admin("kim", at: "127.0.0.1:5"),
            in: "a",
            incarnation: nil,
            of: nil,
            reason: nil,
            at: WallTime(millisecondsSince1970: 0)
        )
        let lines = AuditText.table([.record(AuditRecord(entry, number: 1, behind: .none))])
        #expect(lines.last?.contains("  kim 127.0.0.1:5 at a  ") == true)
    }

    @Test func `records from the admin API are decoded unchanged`() throws {
        let first = Self.record(1)
        let members = String(decoding: first.canonical, as: UTF8.self).dropFirst()
        let text = #"{"audit":[{"hash":"\#(first.hash)",\#(members),{"number":2,"unreadable":true}],"next":2,"last":9}"#
        let reply = try AdminReply(httpStatus: 200, body: Array(text.utf8)).read(AuditReply.self)
        #expect(reply.audit.map(\.item) == [.record(first), .unreadable(2)])
        #expect(reply.next == 2)
        #expect(reply.last == 9)
    }

    @Test func `an expected record must exist and have the same hash`() throws {
        let (first, hash) = (Self.record(1), Self.record(1).hash)
        var chain = AuditChain()
        chain.take(.record(first))
        #expect(AuditVerdict(chain).broken == nil)
        #expect(AuditVerdict(chain).hash == first.hash.digits)

        var met = try #require(ExpectedRecord("1:\(first.hash)"))
        met.saw(.record(first))
        #expect(AuditVerdict(chain, expecting: met).broken == nil)

        var other = try #require(ExpectedRecord("1:\(String(repeating: "0", count: 64))"))
        other.saw(.record(first))
        #expect(AuditVerdict(chain, expecting: other).broken == 1)

        var gone = try #require(ExpectedRecord("7:\(hash)"))
        gone.saw(.record(first))
        let verdict = AuditVerdict(chain, expecting: gone)
        #expect(verdict.broken == 7)
        #expect(verdict.fault?.contains("the end of the log is missing") == true)
    }

    @Test func `a missing end is detected if a later record is known`() throws {
        let first = Self.record(1)
        var chain = AuditChain()
        chain.take(.record(first))
        #expect(AuditVerdict(chain, reaching: 1).fault == nil)
        let cut = AuditVerdict(chain, reaching: 3)
        #expect(cut.broken == 2)
        #expect(cut.fault?.hasPrefix("record 2 is missing") == true)
        #expect(AuditVerdict(AuditChain(), reaching: 1).broken == 1)

        // An earlier fault takes precedence.
        chain.take(.unreadable(2))
        #expect(AuditVerdict(chain, reaching: 3).fault == "record 2 does not open")
    }

    @Test(arguments: ["", "1", "1:", ":ab", "0:\(String(repeating: "0", count: 64))", "1:xyz", "-1:00"])
    func `text other than a number and a hash is refused`(text: String) {
        #expect(ExpectedRecord(text) == nil)
    }
}
