internal import FoundationEssentials
internal import Glibc
internal import Testing
internal import TokenModel
package import TokenStorage

extension TokenStoreContract {
    /// Makes a store unreachable through both handles, and restores it.
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

    /// Checks a store during an outage, for drivers whose tests can cause one. Reads may succeed or throw
    /// `unreachable`. Writes are not acknowledged. No call waits for the outage's end. After the outage, all
    /// acknowledged records are there.
    package static func checkOutage(_ subject: Subject, _ outage: Outage) async throws {
        let (there, gone) = (RecordKey.account("there"), RecordKey.account("gone"))
        // Given records written before the outage
        for key in [there, gone] { try await Self.countUp(key, in: subject.store) }
        try await outage.begin()

        // When every operation is called
        try await Self.call("a read") { () async throws(StoreError) in
            #expect(try await subject.store.read(there)?.version == .first)
        }
        try await Self.call("a listing") { () async throws(StoreError) in
            _ = try await subject.other.records(under: .accounts, after: nil, limit: 10)
        }
        let write = try await Self.call("a write") { () async throws(StoreError) in
            try await subject.store.write(SealedBytes(bytes: [2]), at: there, as: Version(2), expecting: .first)
        }
        let removal = try await Self.call("a removal") { () async throws(StoreError) in
            try await subject.other.remove(gone, expecting: .first)
        }

        // Then no write is acknowledged. It throws `unreachable`, because it may still land later
        #expect(write?.code == .unreachable)
        #expect(removal?.code == .unreachable)
        try await outage.end()
        // and after the outage, each record is as before, or as written during the outage
        try await eventually("the store to be back") {
            (try? await Self.countUp(.account("new"), in: subject.store)) != nil
        }
        let found = try #require(try await subject.other.read(there))
        #expect([Version.first, Version(2)].contains(found.version))
        try await Self.countUp(there, in: subject.store)
        #expect(try await subject.other.read(there)?.version == found.version.next)
    }

    /// - Returns: the error of the call: nil, or ``StoreError/Code/unreachable``. Any other error is recorded as an
    ///   issue.
    @discardableResult
    private static func call(
        _ what: String,
        _ call: @escaping @Sendable () async throws(StoreError) -> Void
    ) async throws -> StoreError? {
        let thrown = try await within(what) { () -> StoreError? in
            do throws(StoreError) {
                try await call()
                return nil
            } catch {
                return error
            }
        }
        #expect(thrown == nil || thrown?.code == .unreachable, "\(what) while the store is away")
        return thrown
    }

    // MARK: - kill -9

    /// Writes one record again and again, and stores each acknowledged version in the file `notes`, which survives the
    /// death of the process. After `delay` the process kills itself with `SIGKILL`. Call it in a separate process.
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

    /// Checks the record of a process killed in ``countUpUntilKilled(_:in:noting:after:)``: the record has every
    /// acknowledged write, and at most one more that was in progress.
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
