import TestKit
import Testing
import TokenModel
import TokenStorage

struct RecordComparisonTests {
    private let source = MemoryTokenStore()
    private let target = MemoryTokenStore()
    private var comparison: RecordComparison { RecordComparison(of: self.target, with: self.source) }

    private func put(_ byte: UInt8, _ version: UInt64 = 1, at key: String, in stores: MemoryTokenStore...) async throws
    {
        for store in stores {
            let value = SealedBytes(bytes: [byte])
            try await store.write(value, at: RecordKey(rawValue: key), as: Version(version), expecting: nil)
        }
    }

    private func differences(
        under prefix: RecordKey.Prefix = .all,
        leavingOut: (RecordKey) -> Bool = { _ in false }
    ) async throws -> [RecordDifference] {
        var found: [RecordDifference] = []
        try await self.comparison.forEachDifference(under: prefix, leavingOut: leavingOut) { found.append($0) }
        return found
    }

    @Test func `a record that is missing in one store, or has another version or value, is a difference`() async throws
    {
        // Given
        try await self.put(1, at: "a/only-source", in: self.source)
        try await self.put(1, at: "b/only-target", in: self.target)
        try await self.put(1, at: "c/equal", in: self.source, self.target)
        try await self.put(1, 1, at: "d/version", in: self.source)
        try await self.put(1, 2, at: "d/version", in: self.target)
        try await self.put(1, at: "e/value", in: self.source)
        try await self.put(2, at: "e/value", in: self.target)
        // When
        let found = try await self.differences()
        // Then
        func record(_ byte: UInt8, _ version: UInt64 = 1) -> StoredRecord {
            StoredRecord(version: Version(version), value: SealedBytes(bytes: [byte]))
        }
        func difference(_ key: String, _ source: StoredRecord?, _ target: StoredRecord?) -> RecordDifference {
            RecordDifference(key: RecordKey(rawValue: key), source: source, target: target)
        }
        #expect(
            found == [
                difference("a/only-source", record(1), nil), difference("b/only-target", nil, record(1)),
                difference("d/version", record(1, 1), record(1, 2)), difference("e/value", record(1), record(2)),
            ]
        )
    }

    @Test func `keys are merged by their UTF-8 bytes, and keys that only look alike are different`() async throws {
        for key in ["\u{FFFD}", "\u{E9}", "B"] { try await self.put(1, at: key, in: self.source) }
        for key in ["\u{1F600}", "e\u{301}", "a"] { try await self.put(1, at: key, in: self.target) }

        let keys = try await self.differences().map { Array($0.key.rawValue.utf8) }

        #expect(keys == ["B", "a", "e\u{301}", "\u{E9}", "\u{FFFD}", "\u{1F600}"].map { Array($0.utf8) })
    }

    @Test func `only the keys under the prefix are compared, without those that are left out`() async throws {
        for key in ["accounts/a", "accounts/b", "replicas/1", "place", "mirror", "kills/1"] {
            try await self.put(1, at: key, in: self.source)
        }
        try await self.put(2, at: "replicas/2", in: self.target)

        let accounts = try await self.differences(under: .accounts)
        let copied = try await self.differences { $0.staysInItsStore }

        #expect(accounts.map(\.key) == [.account("a"), .account("b")])
        #expect(copied.map(\.key.rawValue) == ["accounts/a", "accounts/b", "kills/1"])
    }

    @Test func `pages that are cut by their bytes and pages of many records are compared to their ends`() async throws {
        // Given a source whose pages hold 16 large records, and a target whose pages hold 2,000 small ones
        let large = SealedBytes(bytes: [UInt8](repeating: 7, count: SealedBytes.maximumCount))
        for number in 0..<40 {
            try await self.source.write(large, at: .audit(UInt64(number)), as: .first, expecting: nil)
        }
        for number in 0..<4_100 { try await self.put(1, at: "b/\(1_000_000 + number)", in: self.source, self.target) }
        try await self.put(1, at: "z", in: self.target)
        // When
        var counts: [Int] = []
        var found: [RecordKey] = []
        try await self.comparison.forEachDifference(under: .all, compared: { counts.append($0) }) {
            found.append($0.key)
        }
        // Then
        #expect(found == (0..<40).map { .audit($0) } + [RecordKey(rawValue: "z")])
        #expect(counts == Array(1...4_140))
    }

    @Test func `a record that is written to the target meanwhile does not end the comparison`() async throws {
        for number in 0..<50 { try await self.put(1, at: "accounts/\(100 + number)", in: self.source) }

        var copied = 0
        let target = self.target
        try await self.comparison.forEachDifference(under: .all) { (found) async throws(StoreError) in
            guard let record = found.source else { return }
            try await target.write(record.value, at: found.key, as: record.version, expecting: nil)
            copied += 1
        }

        #expect(copied == 50)
        #expect(try await self.differences() == [])
    }
}
