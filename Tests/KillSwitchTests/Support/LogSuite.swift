import KillSwitch
import Simulation
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Tests of a kill log in a store.
protocol LogSuite {
    var house: ReplicaGroup { get }
}

extension LogSuite {
    var bob: KillScope { .account(AccountID("bob")) }
    var log: KillLog { KillLog(self.house.records) }

    func imported(_ account: String) -> KillEntry {
        let account = AccountID(account)
        return KillEntry(
            .replaced,
            .account(account),
            replacements: [KillEntry.Replacement(account: account, grant: .random())],
            at: self.house.clock.wall
        )
    }

    /// `count` entries. The second one kills bob, the last but one revives him, and the others record imports into a
    /// few accounts.
    func entries(_ count: Int) -> [KillEntry] {
        (1...count).map { number in
            switch number {
            case 2: KillEntry(.kill, self.bob, reason: "drill", at: self.house.clock.wall)
            case count - 1: KillEntry(.revive, self.bob, reason: "over", at: self.house.clock.wall)
            default: self.imported("account-\(number % 7)")
            }
        }
    }

    func write(_ entries: [KillEntry]) async throws {
        for (index, entry) in entries.enumerated() {
            #expect(try await self.log.place(entry, at: Epoch(UInt64(index + 1))) == .written)
        }
    }

    /// The keys under a prefix.
    func keys(_ prefix: RecordKey.Prefix) async throws -> [RecordKey] {
        var keys: [RecordKey] = []
        try await self.house.store.forEachRecord(under: prefix) { keys.append($0.key) }
        return keys
    }

    func fold(upTo epoch: UInt64) async throws {
        let snapshot = try await self.log.contents().folded(upTo: Epoch(epoch)).snapshot
        #expect(try await self.log.fold(snapshot) == Epoch(epoch))
        try await self.removeFolded()
    }

    /// Removes folded entries, as is done when the snapshot has stood for a while.
    func removeFolded() async throws {
        let first = try #require(try await self.log.log.item(1))
        try await self.log.removeFolded(by: first)
    }
}
