import TestKit
import Testing
import TokenModel
import TokenStorage

/// The file that keeps a gateway locked across starts.
@Suite struct LockFileTests {
    private let directory: TemporaryDirectory

    init() throws { self.directory = try TemporaryDirectory() }

    /// The file as a newly started process sees it.
    private var file: LockFile { LockFile(in: self.directory.path) }

    private let note = LockNote(
        reason: "laptop stolen",
        requester: "ops@10.0.0.7",
        at: WallTime(millisecondsSince1970: 1_763_683_200_123),
        isForAllReplicas: true,
        otherReplicas: ["web-2", "web-3"],
        store: StoreID("5t0re")
    )

    @Test func `without a file there is no lock`() async {
        #expect(await self.file.read() == nil)
    }

    @Test func `the next process reads what was written last`() async throws {
        try await self.file.write(LockNote(reason: "first"))
        #expect(await self.file.read() == LockNote(reason: "first"))
        try await self.file.write(self.note)
        #expect(await self.file.read() == self.note)
        #expect(try self.directory.contents() == ["locked"])
        #expect(try self.directory.mode(of: "locked") == 0o600)
    }

    @Test func `a lock that was removed is gone, and may be removed again`() async throws {
        try await self.file.write(self.note)
        try await self.file.remove()
        #expect(await self.file.read() == nil)
        try await self.file.remove()
    }

    @Test(arguments: [[], Array("locked".utf8), nil])
    func `a damaged file counts as a lock, and can be replaced and removed`(_ content: [UInt8]?) async throws {
        try await self.file.write(self.note)
        var bytes = try #require(self.directory.bytes(of: "locked"))
        bytes[bytes.count - 1] ^= 1
        try self.directory.write(content ?? bytes, to: "locked")

        let found = try #require(await self.file.read())

        #expect(found.reason.contains("damaged"))
        #expect(found.at == nil && found.requester == nil && found.store == nil)
        try await self.file.write(self.note)
        #expect(await self.file.read() == self.note)
        try await self.file.remove()
        #expect(await self.file.read() == nil)
    }

    @Test func `what is no file of this program counts as a lock`() async throws {
        try self.directory.makePipe("locked")
        #expect(await self.file.read()?.reason.contains("not a file of this user's") == true)
    }

    @Test func `a lock that can't be written is an error`() async {
        let nowhere = LockFile(in: self.directory.path(of: "nowhere"))
        await #expect(throws: StoreError(.unwritable, "")) { try await nowhere.write(self.note) }
    }
}
