import Glibc
import TestKit
import Testing
import TokenStorage
import TokenStorageSQLite

/// The owners and file types that a database may have.
struct SQLiteTokenStoreOwnershipTests {
    private let directory: TemporaryDirectory

    init() throws {
        self.directory = try TemporaryDirectory()
    }

    private func open() async throws {
        try await SQLiteTokenStore.open(at: self.directory.path(of: "store.db")).close()
    }

    @Test func `a database behind a symbolic link is refused, and the link's target is left unchanged`() async throws {
        try await self.open()
        try self.directory.move("store.db", to: "real.db")
        try self.link("real.db", as: "store.db")
        try self.directory.setMode(0o644, of: "real.db")

        let error = await #expect(throws: StoreError(.unreadable, "")) { try await self.open() }

        #expect(error?.message.contains("symbolic link") == true)
        #expect(try self.directory.mode(of: "real.db") == 0o644)
    }

    @Test func `a dangling link is refused, and no file is made at its target`() async throws {
        try self.link("nowhere.db", as: "store.db")

        await #expect(throws: StoreError(.unreadable, "")) { try await self.open() }

        #expect(self.directory.bytes(of: "nowhere.db") == nil)
    }

    @Test(arguments: ["-wal", "-shm", ".lock"])
    func `a companion behind a symbolic link is refused`(suffix: String) async throws {
        try await self.open()
        if self.directory.bytes(of: "store.db\(suffix)") != nil { try self.directory.remove("store.db\(suffix)") }
        try self.directory.write([], to: "elsewhere")
        try self.link("elsewhere", as: "store.db\(suffix)")

        await #expect(throws: StoreError(.unreadable, "")) { try await self.open() }
    }

    /// Only root can change the owner of a file.
    @Test(.enabled(if: geteuid() == 0))
    func `root can use its own database, but not one of another user`() async throws {
        try await self.open()
        try await self.open()
        try #require(unsafe chown(self.directory.path(of: "store.db"), 12_345, 12_345) == 0)

        let error = await #expect(throws: StoreError(.unreadable, "")) { try await self.open() }

        #expect(error?.message.contains("another user") == true)
    }

    /// The owner of the lock file could hold the lock forever.
    @Test(.enabled(if: geteuid() == 0))
    func `a lock file of another user is refused`() async throws {
        try await self.open()
        try #require(unsafe chown(self.directory.path(of: "store.db.lock"), 12_345, 12_345) == 0)

        let error = await #expect(throws: StoreError(.unreadable, "")) { try await self.open() }

        #expect(error?.message.contains("another user") == true)
    }

    @Test func `a pipe is refused as a database without blocking`() async throws {
        try self.directory.makePipe("store.db")

        await #expect(throws: StoreError(.unreachable, "")) { try await self.open() }
    }

    private func link(_ name: String, as link: String) throws {
        try #require(unsafe symlink(self.directory.path(of: name), self.directory.path(of: link)) == 0)
    }
}
