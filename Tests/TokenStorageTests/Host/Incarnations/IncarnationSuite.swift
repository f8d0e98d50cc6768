import Glibc
import Synchronization
import TestKit
import Testing
import TokenModel
import TokenStorage

/// Tests of several incarnations in one `state_dir`. A registry that is released without ``IncarnationRegistry/close()``
/// looks to the others like a killed process: the kernel releases its lock.
protocol IncarnationSuite {
    var directory: TemporaryDirectory { get }
    var keyRing: KeyRing { get }
}

extension IncarnationSuite {
    var alice: AccountID { AccountID("alice") }
    var success: AccountRecord { .sample(grant: "g", generation: 2) }

    func open(_ store: any TokenStore = MemoryTokenStore()) async throws -> OpenedStore {
        try await OpenedStore.open(store, keys: GivenKeyRing(self.keyRing, name: "test"))
    }

    func begin(
        _ store: OpenedStore,
        as incarnation: IncarnationID = .random(),
        journal: JournalCapacity? = .least,
        kernel: String? = nil,
        _ dispose: @escaping TokenDisposal = { _, _ in }
    ) throws -> IncarnationRegistry {
        try IncarnationRegistry(incarnation, in: self.directory.path, store, journal: journal, kernel: kernel, dispose)
    }

    /// Begins an incarnation that keeps `records` and is then killed.
    func killed(_ store: OpenedStore, keeping records: AccountRecord...) async throws -> IncarnationID {
        let incarnation = IncarnationID.random()
        do {
            let register = try self.begin(store, as: incarnation)
            for record in records { #expect(await register.keep(record, for: self.alice) != nil) }
        }
        try await self.waitForLock(of: incarnation)
        return incarnation
    }

    /// Waits until no process holds the lock of a killed boot's register.
    func waitForLock(of incarnation: IncarnationID) async throws {
        let path = self.directory.path(of: "boots/\(incarnation)")
        try await eventually("its lock to go") {
            let file = unsafe Glibc.open(path, O_RDONLY)
            defer {
                // Unlock first, because a process that another test starts now may have inherited the file.
                _ = flock(file, LOCK_UN)
                close(file)
            }
            return flock(file, LOCK_EX | LOCK_NB) == 0
        }
    }

    /// Moves the modification time of a file back.
    func age(_ file: String, by seconds: Int) throws {
        let then = timeval(tv_sec: time(nil) - seconds, tv_usec: 0)
        try #require(unsafe utimes(self.directory.path(of: file), [then, then]) == 0)
    }
}
