internal import Testing
internal import TokenModel
internal import TokenStorage

extension TokenStoreContract {
    private static let value = SealedBytes(bytes: [1])

    /// Listings, their order, and their pages.
    static let listing: [Clause] = [
        Clause("an empty store lists nothing") { subject in
            let listed = try await subject.store.records(under: .all, after: nil, limit: 10)
            #expect(listed == [])
        },
        Clause("keys come in the order of their UTF-8 bytes") { subject in
            // U+FFFD before U+1F600 in UTF-8, after it in UTF-16; `é` in two spellings; upper case before lower case.
            let names = ["b", "a", "B", "a/x", "a.", "", "\u{1F600}", "\u{FFFD}", "\u{E9}", "e\u{301}", "10", "9"]
            for name in names { try await Self.put(.account(name), in: subject.store) }

            let listed = try await subject.other.records(under: .accounts, after: nil, limit: 100)

            let expected = names.map { RecordKey.account($0) }.sorted {
                $0.rawValue.utf8.lexicographicallyPrecedes($1.rawValue.utf8)
            }
            #expect(listed.map(\.key) == expected)
            #expect(listed.allSatisfy { $0.stored == StoredRecord(version: .first, value: Self.value) })
        },
        Clause("a prefix lists its keys and no neighbour's") { subject in
            let ours = ["accounts/", "accounts/a", "accounts/\u{10FFFF}"].map { RecordKey(rawValue: $0) }
            let others = ["accounts", "accounts.", "accounts0", "account", "b", "Accounts/a", ""]
            for key in ours + others.map({ RecordKey(rawValue: $0) }) { try await Self.put(key, in: subject.store) }

            #expect(try await subject.store.records(under: .accounts, after: nil, limit: 100).map(\.key) == ours)
            #expect(
                try await subject.store.records(under: .all, after: nil, limit: 100).count == ours.count + others.count
            )
        },
        Clause("a page begins behind the key it is told, there or not") { subject in
            for name in ["a", "c", "e"] { try await Self.put(.account(name), in: subject.store) }

            let cases: [(after: String, names: [String])] = [
                ("accounts/a", ["c", "e"]), ("accounts/b", ["c", "e"]), ("accounts/c", ["e"]), ("accounts/e", []),
                ("accounts/a\u{0}", ["c", "e"]), ("", ["a", "c", "e"]), ("accounts", ["a", "c", "e"]), ("b", []),
            ]
            for (after, names) in cases {
                let key = RecordKey(rawValue: after)
                let listed = try await subject.store.records(under: .accounts, after: key, limit: 9)
                #expect(listed.map(\.key) == names.map { RecordKey.account($0) }, "after \(after)")
            }
        },
        Clause("a page has at most as many keys as asked for, and a limit below one is invalid") { subject in
            for name in ["a", "b", "c"] { try await Self.put(.account(name), in: subject.store) }

            for (limit, count) in [(1, 1), (2, 2), (3, 3), (4, 3), (Int.max, 3)] {
                #expect(try await subject.store.records(under: .accounts, after: nil, limit: limit).count == count)
            }
            for limit in [0, -1, Int.min] {
                await #expect(throws: StoreError(.invalid, "")) {
                    _ = try await subject.store.records(under: .accounts, after: nil, limit: limit)
                }
            }
        },
        Clause("a page of large values is cut, never to nothing, and the pages together hold all") { subject in
            let large = SealedBytes(bytes: [UInt8](repeating: 7, count: SealedBytes.maximumCount))
            let keys = (10..<60).map { RecordKey.account(String($0)) }
            for key in keys { try await subject.store.write(large, at: key, as: Version(9), expecting: nil) }

            var (seen, last): ([RecordKey], RecordKey?) = ([], nil)
            repeat {
                let page = try await subject.other.records(under: .accounts, after: last, limit: 50)
                let bytes = page.reduce(0) { $0 + $1.stored.value.bytes.count }
                #expect(bytes <= StoreGuarantees.largestPage)
                #expect(page.allSatisfy { $0.stored == StoredRecord(version: Version(9), value: large) })
                seen += page.map(\.key)
                last = page.last?.key
            } while last != nil

            #expect(seen == keys)
            let uncut = try await subject.store.records(under: .accounts, after: nil, limit: StoreGuarantees.uncutPage)
            #expect(uncut.count == StoreGuarantees.uncutPage)
        },
        Clause("of 2,000 records every page brings new ones until all have been seen") { subject in
            let names = (0..<2000).map { String($0) }
            try await Self.fill(names.map { .account($0) }, in: subject.store)

            var (seen, last): ([RecordKey], RecordKey?) = ([], nil)
            repeat {
                let page = try await subject.other.records(under: .accounts, after: last, limit: 300)
                seen += page.map(\.key)
                last = page.last?.key
            } while last != nil

            #expect(seen == names.map { RecordKey.account($0) }.sorted())
            #expect(try await subject.other.read(.account("1999"))?.value == Self.value)
        },
    ]

    /// Writes many records, up to 256 at a time, which a store may group into one commit.
    private static func fill(_ keys: [RecordKey], in store: any TokenStore) async throws {
        for start in stride(from: 0, to: keys.count, by: 256) {
            try await withThrowingTaskGroup { group in
                for key in keys[start..<min(start + 256, keys.count)] {
                    group.addTask { try await Self.put(key, in: store) }
                }
                try await group.waitForAll()
            }
        }
    }

    /// A driver gives up after two seconds, which a busy machine may take for many writes at once. Such a write is
    /// repeated, and may meet its own earlier success.
    private static func put(_ key: RecordKey, in store: any TokenStore) async throws {
        let end = ContinuousClock.now + .seconds(60)
        var isRepeated = false
        while true {
            do throws(StoreError) {
                return try await store.write(Self.value, at: key, as: .first, expecting: nil)
            } catch {
                if isRepeated, error.code == .conflict, error.current?.value == Self.value { return }
                guard error.code == .unreachable, ContinuousClock.now < end else { throw error }
                isRepeated = true
            }
        }
    }
}
