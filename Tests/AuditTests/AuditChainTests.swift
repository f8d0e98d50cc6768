import Audit
import Testing
import TokenModel

@Suite struct AuditChainTests {
    /// A valid chain of `count` records.
    private static func chain(_ count: UInt64) -> [AuditRecord] {
        var records: [AuditRecord] = []
        for number in 1...count {
            let previous = records.last?.hash ?? .none
            records.append(AuditRecord(Self.entry("reason \(number)"), number: number, behind: previous))
        }
        return records
    }

    private static func entry(_ reason: String) -> AuditEntry {
        AuditEntry(
            .revive,
            by: .admin(at: nil),
            in: "a",
            incarnation: nil,
            of: .all,
            reason: reason,
            at: WallTime(millisecondsSince1970: 0)
        )
    }

    private static func verified(_ items: [AuditItem]) -> AuditChain {
        var chain = AuditChain()
        for item in items { chain.take(item) }
        return chain
    }

    @Test func `unchanged records pass verification, and the head is the hash of the last record`() {
        let records = Self.chain(5)
        let chain = Self.verified(records.map(AuditItem.record))
        #expect(chain.count == 5)
        #expect(chain.firstFault == nil)
        #expect(chain.last.number == 5)
        #expect(chain.last.hash == records[4].hash)
        #expect(Self.verified([]).last.number == 0)
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `a missing record is named, except the last one`(gone: UInt64) {
        let items = Self.chain(5).filter { $0.number != gone }.map(AuditItem.record)
        // Only someone who has kept the hash of the last record can notice that the record is missing.
        #expect(Self.verified(items).firstFault == (gone == 5 ? nil : .missing(gone)))
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `a changed record breaks the chain at the next record`(changed: UInt64) {
        var records = Self.chain(5)
        let index = Int(changed) - 1
        records[index] = AuditRecord(Self.entry("another"), number: changed, behind: records[index].previous)
        #expect(Self.verified(records.map(AuditItem.record)).firstFault == .unchained(changed + 1))
    }

    @Test func `a record that can't be opened is named, even if other records follow it`() {
        var items = Self.chain(3).map(AuditItem.record)
        items[1] = .unreadable(2)
        #expect(Self.verified(items).firstFault == .unreadable(2))
        let next = AuditRecord(Self.entry("later"), number: 3, behind: .none)
        let chain = Self.verified([items[0], .unreadable(2), .record(next)])
        #expect(chain.firstFault == .unreadable(2))
        #expect(chain.last.hash == next.hash)
    }

    @Test func `records that are out of order or repeated break the chain`() {
        let records = Self.chain(3).map(AuditItem.record)
        #expect(Self.verified([records[0], records[0]]).firstFault == .unchained(1))
        #expect(Self.verified([.unreadable(.max), records[0]]).firstFault == .missing(1))
    }
}
