package import Testing
package import TokenModel
package import TokenStorage

/// The requirements of `TokenStore`, as clauses that a driver's tests run one by one:
///
///     @Test(arguments: TokenStoreContract.clauses)
///     func `it keeps the contract`(clause: TokenStoreContract.Clause) async throws {
///         try await clause.check(TokenStoreContract.Subject(store: …, other: …))
///     }
package enum TokenStoreContract {
    /// An empty store of the driver under test.
    package struct Subject: Sendable {
        /// A handle to the records.
        package let store: any TokenStore
        /// A second handle to the same records, like that of another process. It is the same object if there is no
        /// second one.
        package let other: any TokenStore

        package init(store: any TokenStore, other: any TokenStore) {
            self.store = store
            self.other = other
        }
    }

    /// One requirement, named as a sentence.
    package struct Clause: Sendable, CustomTestStringConvertible {
        package let testDescription: String
        /// Records an issue or throws if the subject violates the requirement. Each check needs a new, empty subject.
        package let check: @Sendable (Subject) async throws -> Void

        init(_ sentence: String, _ check: @escaping @Sendable (Subject) async throws -> Void) {
            self.testDescription = sentence
            self.check = check
        }
    }

    /// All clauses.
    package static let clauses: [Clause] = Self.records + Self.listing + Self.concurrency + Self.hints
}

extension TokenStore {
    /// Writes the version after `expecting`, or the first version if `expecting` is nil.
    ///
    /// - Returns: the version written.
    package func write(
        _ value: SealedBytes,
        at key: RecordKey,
        expecting: Version?
    ) async throws(StoreError) -> Version {
        let version = expecting?.next ?? .first
        try await self.write(value, at: key, as: version, expecting: expecting)
        return version
    }
}

extension TokenStoreContract {
    private static let key = RecordKey.account("alice")
    private static let old = SealedBytes(bytes: [1, 2, 3])
    private static let new = SealedBytes(bytes: [4, 5, 6, 7])

    /// Reading, writing, comparing, removing.
    static let records: [Clause] = [
        Clause("where nothing was written, nothing is read") { subject in
            let read = try await subject.store.read(Self.key)
            #expect(read == nil)
        },
        Clause("what was written is read back by everyone, byte for byte") { subject in
            let values = [[], [0], Array(0...255), [0xFF, 0x00]].map { SealedBytes(bytes: $0) }
            for (index, value) in values.enumerated() {
                let key = RecordKey.account(String(index))
                try await subject.store.write(value, at: key, as: .first, expecting: nil)

                #expect(try await subject.store.read(key) == StoredRecord(version: .first, value: value))
                #expect(try await subject.other.read(key) == StoredRecord(version: .first, value: value))
            }
        },
        Clause("a write behind the current version replaces the record") { subject in
            try await subject.store.write(Self.old, at: Self.key, as: .first, expecting: nil)
            try await subject.other.write(Self.new, at: Self.key, as: Version(5), expecting: .first)

            #expect(try await subject.store.read(Self.key) == StoredRecord(version: Version(5), value: Self.new))
        },
        Clause("a write where a record should not be conflicts and carries the record") { subject in
            try await subject.store.write(Self.old, at: Self.key, as: Version(3), expecting: nil)

            try await Self.expectConflict(with: StoredRecord(version: Version(3), value: Self.old)) {
                () async throws(StoreError) in
                try await subject.other.write(Self.new, at: Self.key, as: Version(9), expecting: nil)
            }
            #expect(try await subject.store.read(Self.key) == StoredRecord(version: Version(3), value: Self.old))
        },
        Clause("a write where a record should be conflicts and carries nothing") { subject in
            try await Self.expectConflict(with: nil) { () async throws(StoreError) in
                try await subject.store.write(Self.new, at: Self.key, as: Version(2), expecting: .first)
            }
            #expect(try await subject.store.read(Self.key) == nil)
        },
        Clause("a write behind an older or a later version conflicts and carries the record") { subject in
            try await subject.store.write(Self.old, at: Self.key, as: Version(3), expecting: nil)

            for expecting in [Version(2), Version(4)] {
                try await Self.expectConflict(with: StoredRecord(version: Version(3), value: Self.old)) {
                    () async throws(StoreError) in
                    try await subject.other.write(Self.new, at: Self.key, as: Version(9), expecting: expecting)
                }
            }
        },
        Clause("a version that does not grow is invalid, and nothing is written") { subject in
            let invalid = StoreError(.invalid, "")
            await #expect(throws: invalid) {
                try await subject.store.write(Self.new, at: Self.key, as: Version(0), expecting: nil)
            }
            #expect(try await subject.store.read(Self.key) == nil)

            try await subject.store.write(Self.old, at: Self.key, as: Version(3), expecting: nil)
            for version in [Version(3), Version(2), Version(0)] {
                await #expect(throws: invalid) {
                    try await subject.store.write(Self.new, at: Self.key, as: version, expecting: Version(3))
                }
            }
            #expect(try await subject.store.read(Self.key) == StoredRecord(version: Version(3), value: Self.old))
        },
        Clause("versions reach the largest number there is, and end there") { subject in
            let top = [Version(UInt64(Int64.max)), Version(UInt64(Int64.max) + 1), Version(.max)]
            var expecting: Version?
            for version in top {
                try await subject.store.write(Self.new, at: Self.key, as: version, expecting: expecting)
                #expect(try await subject.other.read(Self.key)?.version == version)
                expecting = version
            }
            await #expect(throws: StoreError(.invalid, "")) {
                _ = try await subject.store.write(Self.old, at: Self.key, expecting: Version(.max))
            }
        },
        Clause("a value of 64 KiB stands, and one byte more is invalid") { subject in
            let largest = SealedBytes(bytes: (0..<SealedBytes.maximumCount).map { UInt8(truncatingIfNeeded: $0 / 7) })
            try await subject.store.write(largest, at: Self.key, as: .first, expecting: nil)
            #expect(try await subject.other.read(Self.key)?.value == largest)

            await #expect(throws: StoreError(.invalid, "")) {
                let larger = SealedBytes(bytes: largest.bytes + [0])
                try await subject.store.write(larger, at: Self.key, as: Version(2), expecting: .first)
            }
            #expect(try await subject.other.read(Self.key)?.version == .first)
        },
        Clause("a record is removed only at the version expected") { subject in
            try await Self.expectConflict(with: nil) { () async throws(StoreError) in
                try await subject.store.remove(Self.key, expecting: .first)
            }
            try await subject.store.write(Self.old, at: Self.key, as: Version(3), expecting: nil)
            for expecting in [Version(2), Version(4)] {
                try await Self.expectConflict(with: StoredRecord(version: Version(3), value: Self.old)) {
                    () async throws(StoreError) in
                    try await subject.other.remove(Self.key, expecting: expecting)
                }
            }
            #expect(try await subject.store.read(Self.key)?.version == Version(3))

            try await subject.other.remove(Self.key, expecting: Version(3))

            #expect(try await subject.store.read(Self.key) == nil)
            #expect(try await subject.store.records(under: .accounts, after: nil, limit: 10) == [])
            try await subject.store.write(Self.new, at: Self.key, as: .first, expecting: nil)
        },
        Clause("records at other keys stay as they are") { subject in
            let (first, second) = (RecordKey.account("a"), RecordKey.account("b"))
            try await subject.store.write(Self.old, at: first, as: .first, expecting: nil)
            try await subject.store.write(Self.old, at: second, as: .first, expecting: nil)
            try await subject.store.write(Self.new, at: first, as: Version(2), expecting: .first)
            try await subject.store.remove(first, expecting: Version(2))

            #expect(try await subject.store.read(second) == StoredRecord(version: .first, value: Self.old))
        },
        Clause("keys that only look alike are different keys") { subject in
            let alike = ["\u{E9}", "e\u{301}", "E\u{301}", "e", "E", "e ", "e\u{0}"].map { RecordKey.account($0) }
            for (index, key) in alike.enumerated() {
                let value = SealedBytes(bytes: [UInt8(index)])
                try await subject.store.write(value, at: key, as: .first, expecting: nil)
            }
            for (index, key) in alike.enumerated() {
                #expect(try await subject.other.read(key)?.value.bytes == [UInt8(index)])
            }
        },
    ]

    /// Runs `body`, which must fail with a conflict that carries `current`.
    static func expectConflict(
        with current: StoredRecord?,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ body: () async throws(StoreError) -> Void
    ) async throws {
        do {
            try await body()
            Issue.record("no conflict", sourceLocation: sourceLocation)
        } catch {
            #expect(error.code == .conflict, sourceLocation: sourceLocation)
            #expect(error.current == current, sourceLocation: sourceLocation)
        }
    }
}

extension TokenStoreContract {
    /// Expects that a driver refuses to open a store, with a message of one line for operators.
    ///
    /// - Parameters:
    ///   - parts: what the message says.
    ///   - secret: what it must not say.
    @discardableResult
    package static func expectRefusal(
        _ code: StoreError.Code,
        _ parts: [String],
        hiding secret: String,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ open: () async throws(StoreError) -> Void
    ) async -> StoreError? {
        do throws(StoreError) {
            try await open()
            Issue.record("it was opened", sourceLocation: sourceLocation)
            return nil
        } catch {
            #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
            for part in parts {
                #expect(error.message.contains(part), "\(error)", sourceLocation: sourceLocation)
            }
            #expect(!error.message.contains("\n"), sourceLocation: sourceLocation)
            #expect(!error.message.contains(secret), sourceLocation: sourceLocation)
            return error
        }
    }
}
