internal import Testing
internal import TokenModel
internal import TokenStorage

extension TokenStoreContract {
    private static let value = SealedBytes(bytes: [1])

    /// Hints about changes.
    static let hints: [Clause] = [
        Clause("a write is heard by all who listened before it, through any handle") { subject in
            let key = RecordKey.account("alice")
            let streams = [subject.store.changes(), subject.other.changes(), subject.other.changes()]

            try await subject.store.write(Self.value, at: key, as: .first, expecting: nil)
            try await subject.other.write(Self.value, at: key, as: Version(2), expecting: .first)

            for stream in streams { try await Self.expectHint(of: key, in: stream) }
        },
        Clause("each of many keys written through another handle is heard of") { subject in
            let keys = (0..<100).map { RecordKey.account(String($0)) }
            let stream = subject.other.changes()

            for key in keys { try await subject.store.write(Self.value, at: key, as: .first, expecting: nil) }

            try await within("hints of 100 keys") {
                var missing = Set(keys)
                for await change in stream {
                    missing.remove(change.key)
                    if missing.isEmpty { return }
                }
            }
        },
        Clause("a hint names the version that was written, or none") { subject in
            let key = RecordKey.account("alice")
            let streams = [subject.store.changes(), subject.other.changes()]

            try await subject.store.write(Self.value, at: key, as: Version(7), expecting: nil)

            for stream in streams {
                try await within("a hint of \(key)") {
                    for await change in stream where change.key == key {
                        #expect(change.version == Version(7) || change.version == nil)
                        return
                    }
                }
            }
        },
        Clause("who stops listening and listens again hears of what comes then") { subject in
            for round in 1...3 {
                let key = RecordKey.account(String(round))
                let stream = subject.other.changes()
                try await subject.store.write(Self.value, at: key, as: .first, expecting: nil)
                try await Self.expectHint(of: key, in: stream)
            }
        },
        Clause("a listener's cancellation ends its stream") { subject in
            let stream = subject.store.changes()
            let listening = Task {
                for await _ in stream {}
            }
            listening.cancel()
            try await within("the stream's end") { await listening.value }
        },
    ]

    private static func expectHint(of expected: RecordKey, in stream: AsyncStream<RecordChange>) async throws {
        try await within("a hint of \(expected)") {
            for await change in stream where change.key == expected { return }
            Issue.record("the stream ended without a hint of \(expected)")
        }
    }
}
