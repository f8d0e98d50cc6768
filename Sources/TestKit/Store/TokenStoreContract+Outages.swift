internal import FoundationEssentials
internal import Glibc
internal import Testing
internal import TokenModel
package import TokenStorage

extension TokenStoreContract {
    /// Takes a store away from both ways to its records, and brings it back.
    package struct Outage: Sendable {
        let begin: @Sendable () async throws -> Void
        let end: @Sendable () async throws -> Void

        package init(
            begin: @escaping @Sendable () async throws -> Void,
            end: @escaping @Sendable () async throws -> Void
        ) {
            self.begin = begin
            self.end = end
        }
    }

    /// An outage, as a driver's tests check it where they can make one: reads may go on, or be unreachable; writes are not
    /// acknowledged; no call takes longer than it may; what was acknowledged is there afterwards.
    package static func checkOutage(_ subject: Subject, _ outage: Outage) async throws {
        let (there, gone) = (RecordKey.account("there"), RecordKey.account("gone"))
        // Given records of before
        for key in [there, gone] { try await Self.countUp(key, in: subject.store) }
        try await outage.begin()

        // When everything is asked of it
        await Self.expectInTime("a read") { () async throws(StoreError) in
            #expect(try await subject.store.read(there)?.version == .first)
        }
        await Self.expectInTime("a listing") { () async throws(StoreError) in
            _ = try await subject.other.records(under: .accounts, after: nil, limit: 10)
        }
        let write = await Self.expectInTime("a write") { () async throws(StoreError) in
            try await subject.store.write(SealedBytes(bytes: [2]), at: there, as: Version(2), expecting: .first)
        }
        let removal = await Self.expectInTime("a removal") { () async throws(StoreError) in
            try await subject.other.remove(gone, expecting: .first)
        }

        // Then no write is acknowledged, and is called what it is: it may land later
        #expect(write?.code == .unreachable)
        #expect(removal?.code == .unreachable)
        try await outage.end()
        // and when it is back, what it had is there, or what was asked of it in the meantime
        try await within("the store to be back") {
            while (try? await Self.countUp(.account("new"), in: subject.store)) == nil { await Task.yield() }
        }
        let found = try #require(try await subject.other.read(there))
        #expect([Version.first, Version(2)].contains(found.version))
        try await Self.countUp(there, in: subject.store)
        #expect(try await subject.other.read(there)?.version == found.version.next)
    }

    /// Twice what a call may take: a busy machine is no fault of the store's.
    private static let longestCall = Duration.seconds(4)

    /// - Returns: what it threw, which is ``StoreError/Code/unreachable`` or a fault.
    @discardableResult
    private static func expectInTime(
        _ what: String,
        _ call: () async throws(StoreError) -> Void
    ) async -> StoreError? {
        let start = ContinuousClock.now
        var thrown: StoreError?
        do throws(StoreError) { try await call() } catch { thrown = error }
        #expect(.now - start < Self.longestCall, "\(what) takes too long")
        #expect(thrown == nil || thrown?.code == .unreachable, "\(what) while the store is away")
        return thrown
    }

    // MARK: - kill -9

    /// Writes one record again and again, and notes each version that was acknowledged in a file, which outlives the process
    /// as any finished `write(2)` does; at some moment the process ends itself by `SIGKILL`. To be called in a process of its
    /// own.
    package static func countUpUntilKilled(
        _ key: RecordKey,
        in store: any TokenStore,
        noting notes: String,
        after delay: Duration
    ) async throws {
        var version = try await store.write(SealedBytes(bytes: [1]), at: key, expecting: nil)
        try Data(version.description.utf8).write(to: URL(filePath: notes), options: .atomic)
        let killing = Task.detached {
            try await Task.sleep(for: delay)
            kill(getpid(), SIGKILL)
        }
        while !killing.isCancelled {
            let value = SealedBytes(bytes: [UInt8(truncatingIfNeeded: version.next.rawValue)])
            version = try await store.write(value, at: key, expecting: version)
            try Data(version.description.utf8).write(to: URL(filePath: notes), options: .atomic)
        }
    }

    /// What such a process wrote: all that was acknowledged, and at most the one write more that was under way.
    package static func checkWhatWasKilled(
        _ key: RecordKey,
        in store: any TokenStore,
        noted notes: String
    ) async throws {
        let noted = try String(decoding: Data(contentsOf: URL(filePath: notes)), as: UTF8.self)
        let acknowledged = try Version(#require(UInt64(noted)))
        let record = try #require(try await store.read(key))
        #expect(record.version == acknowledged || record.version == acknowledged.next)
        #expect(record.value.bytes == [UInt8(truncatingIfNeeded: record.version.rawValue)])
    }
}
