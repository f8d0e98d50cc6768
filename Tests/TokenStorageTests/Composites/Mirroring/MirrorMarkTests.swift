import TestKit
import Testing
import TokenModel
import TokenStorage

/// The mark of a mirror: a start on it is refused or accepted, and whoever writes to it notices that it was accepted.
struct MirrorMarkTests {
    private let primary = FaultyTokenStore()
    private let mirror = FaultyTokenStore()
    private let keys = GivenKeyRing(KeyRing(current: .random()), name: "KEY")

    private func open(primary: (any TokenStore)? = nil) async throws -> MirroringTokenStore {
        try await MirroringTokenStore.open(
            primary: primary ?? self.primary,
            mirrors: [.init(name: "mirror.db", store: self.mirror)],
            keys: self.keys,
            timing: .short
        )
    }

    private func mark() throws -> MirrorMark? {
        try self.mirror.history.record(.mirror).map { try MirrorMark(decoding: $0.value) }
    }

    /// A store with two accounts, mirrored until the mirror is up to date.
    private func fill() async throws {
        let store = try await self.open()
        let opened = try await OpenedStore.open(store, keys: self.keys)
        try await whileRunning([store]) {
            try await store.upToDate()
            for name in ["alice", "bob"] {
                _ = try await opened.accounts.write(.sample(), for: AccountID(name), expecting: nil)
            }
            #expect(await store.flush(within: .seconds(60)))
        }
    }

    @Test(arguments: [
        MirrorMark(id: .random(), state: .complete, completeAt: WallTime(millisecondsSince1970: 1)),
        MirrorMark(id: .random(), state: .behind, completeAt: nil),
    ])
    func `a mark is read back as it was written`(mark: MirrorMark) throws {
        #expect(try MirrorMark(decoding: mark.encoded()) == mark)
        #expect(mark.encoded().keyID == nil)
    }

    @Test(arguments: [
        "", "martlet mirror 2 a behind never", "martlet mirror 1 a gone never", "martlet mirror 1 a behind x",
        "martlet mirror 1 a behind", "martlet mirror 1 a behind never ",
    ])
    func `other bytes are no mark`(text: String) {
        #expect(throws: StoreError(.unreadable, "")) {
            try MirrorMark(decoding: SealedBytes(bytes: Array(text.utf8)))
        }
    }

    @Test func `the mark is there before the first record`() async throws {
        _ = try await self.primary.write(SealedBytes(bytes: [1]), at: .account("a"), expecting: nil)
        let store = try await self.open()
        #expect(try self.mark()?.state == .behind)
        try await whileRunning([store]) { try await store.upToDate() }
        let written = self.mirror.calls.filter { $0.operation == .write }.map(\.place)
        #expect(written.first == "mirror")
    }

    @Test func `a start on a mirror is refused, and says when it was complete`() async throws {
        try await self.fill()
        let time = try #require(try self.mark()?.completeAt).rfc3339

        let error = await #expect(throws: StoreError(.outdated, "")) {
            _ = try await OpenedStore.open(self.mirror, keys: self.keys)
        }

        #expect(error?.message.contains("it was complete at \(time)") == true)
        #expect(error?.message.contains("martlet serve --accept-older-store") == true)
        await #expect(throws: StoreError(.outdated, "")) {
            _ = try await OpenedStore.openExisting(self.mirror, keys: self.keys)
        }
    }

    @Test func `the mark of a mirror that falls behind says so when the mirror can be reached again`() async throws {
        try await self.fill()
        var timing = MirrorTiming.short
        timing.settling = .seconds(600)
        let store = MirroringTokenStore(
            primary: self.primary,
            mirrors: [.init(name: "mirror", store: self.mirror)],
            keys: self.keys,
            timing: timing
        )
        try await whileRunning([store]) {
            try await store.upToDate()
            try await eventually("a complete mark") { try self.mark()?.state == .complete }
            self.mirror.fail(.away, [.write], at: .account("carol"), times: 1)
            _ = try await store.write(SealedBytes(bytes: [1]), at: .account("carol"), expecting: nil)
            try await eventually("a mark that says behind") { try self.mark()?.state == .behind }
        }
        let error = await #expect(throws: StoreError(.outdated, "")) {
            _ = try await OpenedStore.open(self.mirror, keys: self.keys)
        }
        #expect(error?.message.contains("it is behind: records are missing here and there") == true)
    }

    @Test func `an accepted mirror is a store of its own, and all its records open`() async throws {
        try await self.fill()

        let opened = try await OpenedStore.open(self.mirror, keys: self.keys, mirror: .promote)

        #expect(try self.mark()?.state == .promoted)
        #expect(try await opened.accounts.read(AccountID("bob"))?.record == .sample())
        #expect(try await OpenedStore.open(self.mirror, keys: self.keys).storeID == opened.storeID)
    }

    @Test func `a survey of a mirror leaves out the mark, and reads what is about this copy`() async throws {
        try await self.fill()
        let opened = try await OpenedStore.openExisting(self.mirror, keys: self.keys, mirror: .readOnly)
        _ = try await opened.records.write(Secret([1]), at: .place, expecting: nil)

        let survey = try await opened.survey()

        #expect(survey.records == 4)
        #expect(survey.unreadable == [])
        #expect(try self.mark() != nil)
    }

    @Test func `a gateway stops writing to a mirror from which another has started`() async throws {
        try await self.fill()
        let store = try await self.open()
        try await whileRunning([store]) {
            try await store.upToDate()
            _ = try await OpenedStore.open(self.mirror.connect(), keys: self.keys, mirror: .promote)
            try await eventually("the gateway to notice") { store.states[0].phase == .promoted }

            let key = RecordKey.account("late")
            _ = try await store.write(SealedBytes(bytes: [1]), at: key, expecting: nil)
            #expect(self.mirror.history.record(key) == nil)
            #expect(try self.mark()?.state == .promoted)
        }
        // and a restart with the same mirror does not undo what is written there from now on
        let error = await #expect(throws: StoreError.self) { _ = try await self.open() }
        #expect(error?.message.contains("mirror mirror.db: gateways have used it as a store of its own") == true)
    }

    @Test func `a record is not rewound on a mirror from which somebody has started`() async throws {
        var timing = MirrorTiming.short
        timing.refresh = .seconds(600)
        let store = MirroringTokenStore(
            primary: self.primary,
            mirrors: [.init(name: "mirror", store: self.mirror)],
            timing: timing
        )
        let key = RecordKey.account("alice")
        try await whileRunning([store]) {
            try await store.upToDate()
            // Given a mirror with a newer record, that lost its mark just now
            let mark = try #require(self.mirror.history.record(.mirror))
            try await self.mirror.connect().remove(.mirror, expecting: mark.version)
            try await self.mirror.connect().write(SealedBytes(bytes: [9]), at: key, as: Version(9), expecting: nil)
            // When
            _ = try await store.write(SealedBytes(bytes: [1]), at: key, expecting: nil)
            // Then
            #expect(self.mirror.history.record(key)?.version == Version(9))
            #expect(store.states[0].phase == .promoted)
        }
    }

    @Test func `the mirror of another store is refused`() async throws {
        _ = try await OpenedStore.open(self.primary, keys: self.keys)
        _ = try await OpenedStore.open(self.mirror, keys: self.keys)

        let error = await #expect(throws: StoreError(.unreadable, "")) { _ = try await self.open() }

        #expect(error?.message.contains("mirror mirror.db: it holds another store") == true)
        #expect(try self.mark() == nil)
    }

    @Test func `records without a canary are refused, and so is a full mirror of an empty primary`() async throws {
        _ = try await self.mirror.write(SealedBytes(bytes: [1]), at: .account("alice"), expecting: nil)
        await #expect(throws: StoreError(.unreadable, "")) { _ = try await self.open() }

        let (empty, full) = (MemoryTokenStore(), FaultyTokenStore())
        _ = try await OpenedStore.open(full, keys: self.keys)
        await #expect(throws: StoreError.self) {
            _ = try await MirroringTokenStore.open(
                primary: empty,
                mirrors: [.init(name: "full", store: full)],
                keys: self.keys
            )
        }
        #expect(full.history.count == 1)
    }

    @Test func `a mirror whose canary was sealed anew at the primary since is accepted`() async throws {
        // Given a copy of a store
        let opened = try await OpenedStore.open(self.primary, keys: self.keys)
        let first = try #require(try await self.primary.read(.canary))
        try await self.mirror.write(first.value, at: .canary, as: first.version, expecting: nil)
        let sealed = try Canary(storeID: opened.storeID).sealed(with: opened.keyRing, as: Version(99))
        try await self.primary.write(sealed, at: .canary, as: Version(99), expecting: first.version)
        // When
        let store = try await self.open()
        try await whileRunning([store]) { try await store.upToDate() }
        // Then
        #expect(try await self.mirror.read(.canary)?.value == sealed)
    }

    @Test func `a mirror that is away at the start is inspected when it is back`() async throws {
        _ = try await OpenedStore.open(self.primary, keys: self.keys)
        _ = try await OpenedStore.open(self.mirror, keys: self.keys)
        self.mirror.fail(.away)
        let store = try await self.open()
        try await whileRunning([store]) {
            self.mirror.recover()
            try await eventually("the refusal") {
                if case .refused = store.states[0].phase { true } else { false }
            }
        }
        #expect(self.mirror.history.count == 1)
    }

    @Test func `gateways with the same mirror share its mark`() async throws {
        let stores = [try await self.open(), try await self.open()]
        let id = try self.mark()?.id
        try await whileRunning(stores) {
            for store in stores { try await store.upToDate() }
            try await eventually("a complete mark") { try self.mark()?.state == .complete }
        }
        #expect(try self.mark()?.id == id)
    }
}
