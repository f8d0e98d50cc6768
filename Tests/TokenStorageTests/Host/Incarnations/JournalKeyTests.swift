import Glibc
import TestKit
import Testing
import TokenModel
import TokenStorage

/// New tokens in a journal, and changes of the key that they are sealed under.
@Suite struct JournalKeyTests {
    private let directory: TemporaryDirectory
    private let keys: KeyRingFile
    private let store = MemoryTokenStore()
    /// The store as opened by a gateway that was started before the change.
    private let opened: OpenedStore
    private let alice = AccountID("alice")
    private let success = AccountRecord.sample(grant: "g", generation: 2)

    init() async throws {
        self.directory = try TemporaryDirectory()
        self.keys = KeyRingFile(path: self.directory.path(of: "sealing.key"), isMadeWhenMissing: true)
        self.opened = try await OpenedStore.open(self.store, keys: self.keys)
    }

    /// The store as opened by a gateway that is started now.
    private func openedNow() async throws -> OpenedStore {
        try await OpenedStore.openExisting(self.store, keys: self.keys)
    }

    private func begin(_ store: OpenedStore, as incarnation: IncarnationID = .random()) throws -> IncarnationRegistry {
        try IncarnationRegistry(incarnation, in: self.directory.path, store, journal: .least) { _, _ in }
    }

    /// An incarnation under the old key that has ended and still owes the store a success.
    private func ended(in store: OpenedStore? = nil) async throws -> IncarnationID {
        let incarnation = IncarnationID.random()
        let register = try self.begin(store ?? self.opened, as: incarnation)
        #expect(await register.keep(self.success, for: self.alice) != nil)
        await register.close()
        return incarnation
    }

    private func rekey(retires: Bool = false, looksAtJournals: Bool = true) async throws -> Rekeying.Outcome {
        let directory = looksAtJournals ? self.directory.path : nil
        let rekeying = try Rekeying(
            try await self.openedNow(),
            keys: self.keys,
            journalsIn: directory,
            settling: .zero
        )
        return try await rekeying.run(retires: retires)
    }

    /// Appends the last key of `file` to the key file.
    private func putBack(_ file: [UInt8]) throws {
        let lost = try #require(file.split(separator: UInt8(ascii: "\n")).last)
        let now = try #require(self.directory.bytes(of: "sealing.key"))
        try self.directory.write(now + lost + [UInt8(ascii: "\n")], to: "sealing.key")
        try self.directory.setMode(0o600, of: "sealing.key")
    }

    @Test func `I2_a journal whose key is missing is kept and reported, and committed when the key is back`()
        async throws
    {
        let old = self.opened.keyRing.current.id
        let incarnation = try await self.ended()
        let copy = try #require(self.directory.bytes(of: "sealing.key"))
        _ = try await self.rekey()
        // Stands for a person who edits the file.
        let retired = try await self.rekey(retires: true, looksAtJournals: false)
        try #require(retired.retired == [old])
        let journal = self.directory.bytes(of: "journal/\(incarnation)")
        let register = try self.begin(try await self.openedNow())

        for _ in 0..<2 {
            let inherited = await register.inheritAll()
            #expect([inherited.incarnations, inherited.committed, inherited.left, inherited.unopened] == [0, 0, 0, 1])
            #expect(inherited.missingKeys == [old])
        }
        #expect(await !register.isDead(incarnation))
        #expect(self.directory.bytes(of: "journal/\(incarnation)") == journal)

        try self.putBack(copy)
        let inherited = await register.inheritAll()

        #expect([inherited.incarnations, inherited.committed, inherited.unopened] == [1, 1, 0])
        #expect(try await self.openedNow().accounts.read(self.alice)?.record == self.success)
        #expect(self.directory.bytes(of: "journal/\(incarnation)") == nil)
    }

    @Test func `a key that a journal needs is not retired until the journal is inherited`() async throws {
        let old = self.opened.keyRing.current.id
        _ = try await self.ended()
        #expect(try await self.rekey().journalled == [old])

        let needed = try await self.rekey(retires: true)
        #expect(needed.retired == [])
        #expect(needed.journalled == [old])
        #expect(needed.unused == [])
        #expect(try self.keys.existing()?.ids == [needed.key, old])

        let register = try self.begin(try await self.openedNow())
        #expect(await register.inheritAll().committed == 1)
        let free = try await self.rekey(retires: true)
        #expect(free.retired == [old])
        #expect(free.journalled == [])
    }

    @Test func `a gateway started before the key change keeps later successes under the new key`() async throws {
        let incarnation = IncarnationID.random()
        let register = try self.begin(self.opened, as: incarnation)
        let rekeyed = try await self.rekey()

        #expect(await register.keep(self.success, for: self.alice) != nil)

        let survey = try await self.openedNow().surveyJournals(in: self.directory.path)
        #expect(survey.byKey == [rekeyed.key: 1])
        #expect([survey.entries, survey.opened] == [1, 1])
        await register.close()
    }

    @Test func `a key file of another store, put in place while a gateway runs, seals no success`() async throws {
        let register = try self.begin(self.opened)
        let old = self.opened.keyRing.current.id
        let own = try #require(self.directory.bytes(of: "sealing.key"))
        _ = try KeyRingFile(path: self.directory.path(of: "other.key"), isMadeWhenMissing: true).make()
        try self.directory.write(try #require(self.directory.bytes(of: "other.key")), to: "sealing.key")

        #expect(await register.keep(self.success, for: self.alice) != nil)

        try self.directory.write(own, to: "sealing.key")
        let survey = try await self.openedNow().surveyJournals(in: self.directory.path)
        #expect(survey.byKey == [old: 1])
        await register.close()
    }

    @Test func `a journal that opens is counted, and a journal whose key is missing is named`() async throws {
        let old = self.opened.keyRing.current.id
        let incarnation = try await self.ended()
        let before = try await self.openedNow().surveyJournals(in: self.directory.path)
        _ = try await self.rekey()
        _ = try await self.rekey(retires: true, looksAtJournals: false)

        let after = try await self.openedNow().surveyJournals(in: self.directory.path)

        #expect([before.entries, before.opened] == [1, 1])
        #expect(before.unreadable == [])
        #expect([after.entries, after.opened] == [1, 0])
        #expect(after.unreadable.map(\.record) == [RecordKey(rawValue: "journal/\(incarnation)")])
        #expect(after.unreadable.first?.reason.contains("\(old)") == true)
        #expect(after.isWhole)
        #expect([before.locked, after.locked] == [0, 1])
    }

    @Test func `an unreadable journal keeps every key`() async throws {
        let old = self.opened.keyRing.current.id
        _ = try await self.rekey()
        let register = try self.begin(try await self.openedNow())
        let incarnation = IncarnationID.random()
        try self.directory.write([], to: "elsewhere")
        try #require(
            unsafe symlink(self.directory.path(of: "elsewhere"), self.directory.path(of: "journal/\(incarnation)")) == 0
        )

        let outcome = try await self.rekey(retires: true)

        #expect(outcome.retired == [])
        #expect(outcome.journalled == [old])
        await register.close()
    }

    @Test func `an entry in the sealed form of a newer version keeps every key`() async throws {
        let old = self.opened.keyRing.current.id
        let incarnation = try await self.ended()
        _ = try await self.rekey()
        var journal = try #require(self.directory.bytes(of: "journal/\(incarnation)"))
        try #require(journal[JournalFrame.headerCount] == 1)
        journal[JournalFrame.headerCount] = 2
        try self.directory.write(journal, to: "journal/\(incarnation)")

        let outcome = try await self.rekey(retires: true)

        let survey = try await self.openedNow().surveyJournals(in: self.directory.path)
        #expect(!survey.isWhole)
        #expect(survey.locked == 0)
        #expect(outcome.retired == [])
        #expect(outcome.journalled == [old])
    }

    @Test func `journals of another store need no key of this store, and no journals need none`() async throws {
        let none = self.opened.surveyJournals(in: self.directory.path)
        let another = try await OpenedStore.open(
            MemoryTokenStore(),
            keys: GivenKeyRing(KeyRing(current: .random()), name: "test")
        )
        _ = try await self.ended(in: another)

        #expect(none == JournalSurvey())
        #expect(self.opened.surveyJournals(in: self.directory.path) == JournalSurvey())
        #expect(another.surveyJournals(in: self.directory.path).opened == 1)
    }
}
