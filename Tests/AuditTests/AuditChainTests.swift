import Audit
import Testing
import TokenModel

@Suite struct AuditChainTests {
    /// A good chain of `count` records.
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

    @Test func `records that nobody touched hold, and the head is the last one's`() {
        let records = Self.chain(5)
        let chain = Self.verified(records.map(AuditItem.record))
        #expect(chain.count == 5)
        #expect(chain.firstFault == nil)
        #expect(chain.last.number == 5)
        #expect(chain.last.hash == records[4].hash)
        #expect(Self.verified([]).last.number == 0)
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `a record that is missing is named`(gone: UInt64) {
        let items = Self.chain(5).filter { $0.number != gone }.map(AuditItem.record)
        // The end can only be missed by who has kept its hash.
        #expect(Self.verified(items).firstFault == (gone == 5 ? nil : .missing(gone)))
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `a record with other words breaks the chain at the next`(changed: UInt64) {
        var records = Self.chain(5)
        let index = Int(changed) - 1
        records[index] = AuditRecord(Self.entry("another"), number: changed, behind: records[index].previous)
        #expect(Self.verified(records.map(AuditItem.record)).firstFault == .unchained(changed + 1))
    }

    @Test func `a record that does not open is named, though others were written behind it`() {
        var items = Self.chain(3).map(AuditItem.record)
        items[1] = .unreadable(2)
        #expect(Self.verified(items).firstFault == .unreadable(2))
        let next = AuditRecord(Self.entry("later"), number: 3, behind: .none)
        let chain = Self.verified([items[0], .unreadable(2), .record(next)])
        #expect(chain.firstFault == .unreadable(2))
        #expect(chain.last.hash == next.hash)
    }

    @Test func `records out of order, or twice, break the chain`() {
        let records = Self.chain(3).map(AuditItem.record)
        #expect(Self.verified([records[0], records[0]]).firstFault == .unchained(1))
        #expect(Self.verified([.unreadable(.max), records[0]]).firstFault == .missing(1))
    }
}
