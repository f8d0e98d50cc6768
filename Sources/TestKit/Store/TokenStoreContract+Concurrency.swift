internal import Testing
internal import TokenModel
package import TokenStorage

extension TokenStoreContract {
    private static let key = RecordKey.account("alice")

    /// Concurrent writers and cancelled tasks.
    static let concurrency: [Clause] = [
        Clause("64 tasks that count up one record lose none") { subject in
            try await withThrowingTaskGroup { group in
                for index in 0..<64 {
                    let store = index.isMultiple(of: 2) ? subject.store : subject.other
                    group.addTask { try await Self.countUp(Self.key, in: store) }
                }
                try await group.waitForAll()
            }

            let record = try await subject.store.read(Self.key)
            #expect(record == StoredRecord(version: Version(64), value: SealedBytes(bytes: [64])))
        },
        Clause("of 64 first writes one stands, and the others are told which") { subject in
            let outcomes = await withTaskGroup { group in
                for index in 0..<64 {
                    let store = index.isMultiple(of: 2) ? subject.store : subject.other
                    let value = SealedBytes(bytes: [UInt8(index)])
                    group.addTask { () -> Result<SealedBytes, StoreError> in
                        do throws(StoreError) {
                            try await store.write(value, at: Self.key, as: .first, expecting: nil)
                            return .success(value)
                        } catch {
                            return .failure(error)
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }

            let winners = outcomes.compactMap { try? $0.get() }
            #expect(winners.count == 1)
            for case .failure(let error) in outcomes {
                #expect(error.code == .conflict)
                #expect(error.current?.value == winners.first)
            }
        },
        Clause("a reader never sees a version fall") { subject in
            async let writing: Void = {
                for _ in 0..<100 { try await Self.countUp(Self.key, in: subject.store) }
            }()
            try await within("the last version") {
                var last = Version(0)
                while last < Version(100) {
                    let version = try await subject.other.read(Self.key)?.version ?? Version(0)
                    try #require(version >= last)
                    last = version
                    // A store in memory never suspends a reader, which would keep its thread from the writer's tasks.
                    await Task.yield()
                }
            }
            try await writing
        },
        Clause("operations of a cancelled task are done all the same") { subject in
            let task = Task {
                while !Task.isCancelled { await Task.yield() }
                try await subject.store.write(SealedBytes(bytes: [1]), at: Self.key, as: .first, expecting: nil)
                _ = try await subject.store.read(Self.key)
                _ = try await subject.store.records(under: .all, after: nil, limit: 1)
                try await subject.store.write(SealedBytes(bytes: [2]), at: Self.key, as: Version(2), expecting: .first)
                try await subject.store.write(SealedBytes(bytes: []), at: .canary, as: .first, expecting: nil)
                try await subject.store.remove(.canary, expecting: .first)
            }
            task.cancel()
            try await task.value

            #expect(try await subject.other.read(Self.key)?.version == Version(2))
            #expect(try await subject.other.read(.canary) == nil)
        },
        Clause("tasks cancelled at any moment leave a whole record") { subject in
            for round in 0..<32 {
                let task = Task {
                    for _ in 0..<4 { try await Self.countUp(Self.key, in: subject.store) }
                }
                for _ in 0..<round { await Task.yield() }
                task.cancel()
                try await task.value

                let record = try #require(try await subject.other.read(Self.key))
                #expect(record.value.bytes == [UInt8(truncatingIfNeeded: record.version.rawValue)])
            }
            #expect(try await subject.other.read(Self.key)?.version == Version(128))
        },
    ]

    /// Writes the next number over the current one. Retries until no other writer intervenes.
    package static func countUp(_ key: RecordKey, in store: any TokenStore) async throws {
        var current = try await store.read(key)
        while true {
            let next = UInt8(truncatingIfNeeded: (current?.version.rawValue ?? 0) + 1)
            do throws(StoreError) {
                _ = try await store.write(SealedBytes(bytes: [next]), at: key, expecting: current?.version)
                return
            } catch {
                guard error.code == .conflict else { throw error }
                current = error.current
            }
        }
    }
}
