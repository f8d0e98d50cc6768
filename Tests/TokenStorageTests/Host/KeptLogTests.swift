import Glibc
import SystemSupport
import TestKit
import Testing
import TokenModel
import TokenStorage

/// A host's copy of a store's kill log.
@Suite struct KeptLogTests {
    private let directory: TemporaryDirectory

    init() throws { self.directory = try TemporaryDirectory() }

    private var log: KillLogFile { KillLogFile(in: self.directory.path, of: "store") }

    private func entry(_ number: Int) -> KillLogFileEntry {
        KillLogFileEntry(number: UInt64(number), id: "id-\(number)", bytes: Secret("entry \(number)"))
    }

    @Test func `added entries are there for the next process, in order and once`() async throws {
        let log = self.log
        try await log.add([self.entry(1), self.entry(2)])
        try await log.add([self.entry(2), self.entry(3)])
        #expect(try await self.log.entries() == [self.entry(1), self.entry(2), self.entry(3)])
        #expect(try await KillLogFile(in: self.directory.path, of: "another").entries().isEmpty)
    }

    @Test func `entries beyond the capacity of a file go to the next file`() async throws {
        let entries = (1...600).map(self.entry)
        for start in stride(from: 0, to: 600, by: 50) { try await self.log.add(Array(entries[start..<start + 50])) }
        #expect(try await self.log.entries() == entries)
        let log = self.log
        try await log.add(entries + [self.entry(601)])
        #expect(try await log.entries().count == 601)
    }

    @Test func `concurrent writers lose no entry and add none twice`() async throws {
        try await withThrowingTaskGroup { tasks in
            for process in 0..<4 {
                let log = self.log
                tasks.addTask {
                    for number in 1...40 { try await log.add([self.entry(number), self.entry(1_000 + process)]) }
                }
            }
            try await tasks.waitForAll()
        }
        let ids = try await self.log.entries().map(\.id)
        #expect(Set(ids).count == ids.count)
        #expect(ids.count == 44)
    }

    @Test
    func `a writer waits for one that is ahead of it in the queue, but no longer than a second if that is stopped`()
        async throws
    {
        try await self.log.add([self.entry(1)])
        let ahead = try OpenFile(opening: self.directory.path(of: "kill-log/store/lock"), O_RDWR)
        let isAhead = ahead.lockQueue()
        #expect(isAhead)
        let begin = ContinuousClock.now
        try await self.log.add([self.entry(2)])
        #expect(begin.duration(to: .now) >= .seconds(1))
        #expect(try await self.log.entries() == [self.entry(1), self.entry(2)])
        _ = consume ahead
    }

    @Test func `a damaged file is refused and named`() async throws {
        try await self.log.add([self.entry(1)])
        let name = "kill-log/store/segment-0"
        var bytes = try #require(self.directory.bytes(of: name))
        bytes[bytes.count - 1] ^= 1
        try self.directory.write(bytes, to: name)
        let error = await #expect(throws: StoreError(.unreadable, "")) { try await self.log.entries() }
        #expect(error?.message.contains("segment-0") == true)
    }

    @Test(arguments: ["order", "standing"])
    func `an order is kept until it is dropped, even under the file name of an earlier version`(
        name: String
    ) async throws {
        try await self.log.keep(pendingKill: Secret("kill"), id: "one")
        try await self.log.keep(pendingKill: Secret("kill"), id: "one")
        if name != "order" { try self.directory.move("kill-log/store/order-one", to: "kill-log/store/\(name)-one") }
        #expect(try await self.log.pendingKills().map { try $0.get() } == [Secret("kill")])
        let (first, second) = (await self.log.drop(pendingKill: "one"), await self.log.drop(pendingKill: "one"))
        #expect(first && !second)
        #expect(try await self.log.pendingKills().isEmpty)
        #expect(try await self.log.entries().isEmpty)
    }

    @Test func `only this user can access the files`() async throws {
        try await self.log.add([self.entry(1)])
        #expect(try self.directory.mode(of: "kill-log/store/segment-0") == 0o600)
        #expect(try self.directory.mode(of: "kill-log/store") == 0o700)
    }
}
