import TestKit
import Testing
import TokenModel
import TokenStorage

/// What a locked gateway was told, for the time when it is unlocked.
@Suite struct LockedOrdersTests {
    private let directory: TemporaryDirectory

    init() throws { self.directory = try TemporaryDirectory() }

    /// The orders as a newly started process sees them.
    private var orders: LockedOrders { LockedOrders(in: self.directory.path) }

    private func kill(_ id: String) -> LockedOrders.Kill {
        LockedOrders.Kill(id: id, bytes: Secret("kill \(id)"), requester: id == "a" ? "ops@10.0.0.7" : nil)
    }

    private func note(_ number: Int) -> AuditNote {
        AuditNote(
            action: "unlock",
            outcome: number % 2 == 0 ? "wrong_passphrase" : "done",
            detail: number % 2 == 0 ? "attempt \(number)" : nil,
            requester: number % 2 == 0 ? "ops" : nil,
            at: WallTime(millisecondsSince1970: Int64(number))
        )
    }

    // MARK: - Kills

    @Test func `kills are there for the next process, once each, until they are dropped`() async throws {
        #expect(try await self.orders.kills().isEmpty)
        for id in ["a", "b", "a"] { try await self.orders.add(self.kill(id)) }
        #expect(try await self.orders.kills().map { try $0.get() } == [self.kill("a"), self.kill("b")])
        await self.orders.drop(kill: "a")
        await self.orders.drop(kill: "a")
        #expect(try await self.orders.kills().map { try $0.get() } == [self.kill("b")])
        #expect(try self.directory.mode(of: "locked-orders") == 0o700)
        #expect(try self.directory.mode(of: "locked-orders/kill-b") == 0o600)
    }

    @Test func `a damaged kill is found and named, beside the others`() async throws {
        for id in ["a", "b"] { try await self.orders.add(self.kill(id)) }
        try self.directory.write(Array("no kill".utf8), to: "locked-orders/kill-a")

        let found = try await self.orders.kills()

        #expect(found.count == 2)
        let error = #expect(throws: StoreError(.unreadable, "")) { try found[0].get() }
        #expect(error?.message.contains("kill-a") == true)
        #expect(try found[1].get() == self.kill("b"))
    }

    @Test func `a kill that can't be kept is an error`() async throws {
        try self.directory.write([], to: "locked-orders")
        await #expect(throws: StoreError(.unwritable, "")) { try await self.orders.add(self.kill("a")) }
    }

    // MARK: - Notes

    @Test func `notes are read in the order in which they were added, across processes, until they are dropped`()
        async throws
    {
        for number in 1...12 { try await self.orders.add(self.note(number)) }

        let notes = try await self.orders.notes()

        #expect(notes.notes == (1...12).map(self.note))
        #expect(notes.lost == 0)
        // One more comes while those are put into the audit log.
        try await self.orders.add(self.note(13))
        await self.orders.drop(notes)
        #expect(try await self.orders.notes().notes == [self.note(13)])
    }

    @Test func `two processes that add notes at once lose none`() async throws {
        try await withThrowingTaskGroup { tasks in
            for process in 0..<4 {
                let orders = self.orders
                tasks.addTask { for number in 1...5 { try await orders.add(self.note(100 * process + number)) } }
            }
            try await tasks.waitForAll()
        }
        #expect(try await self.orders.notes().notes.count == 20)
    }

    @Test func `beyond the most notes they are counted, and the count goes with the notes`() async throws {
        let orders = LockedOrders(in: self.directory.path, mostNotes: 3)
        for number in 1...5 { try await orders.add(self.note(number)) }

        let notes = try await self.orders.notes()

        #expect(notes.notes == (1...3).map(self.note))
        #expect(notes.lost == 2)
        await self.orders.drop(notes)
        #expect(try await self.orders.notes().notes.isEmpty)
        #expect(try await self.orders.notes().lost == 0)
    }

    @Test(arguments: ["note-00000000000000000001", "lost"])
    func `a damaged file counts as one lost note`(_ name: String) async throws {
        for number in 1...2 { try await self.orders.add(self.note(number)) }
        try self.directory.write(Array("nothing".utf8), to: "locked-orders/\(name)")

        let notes = try await self.orders.notes()

        #expect(notes.lost == 1)
        #expect(notes.notes.last == self.note(2))
    }
}
