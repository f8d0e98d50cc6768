import Synchronization
import TestKit
import Testing
import TokenModel
import TokenStorage

/// A primary and a mirror of which one or both fail.
struct MirroringTokenStoreTests {
    private let primary = FaultyTokenStore()
    private let mirror = FaultyTokenStore()
    private let alice = RecordKey.account("alice")

    private func store(_ timing: MirrorTiming = .short) -> MirroringTokenStore {
        MirroringTokenStore(
            primary: self.primary.connect(),
            mirrors: [.init(name: "mirror", store: self.mirror)],
            timing: timing
        )
    }

    private static func value(_ byte: UInt8) -> SealedBytes { SealedBytes(bytes: [byte]) }

    // MARK: - In order

    @Test func `a write is on the mirror when it is acknowledged, and so is a removal`() async throws {
        let store = self.store()
        try await whileRunning([store]) {
            try await store.upToDate()

            let version = try await store.write(Self.value(1), at: self.alice, expecting: nil)
            #expect(self.mirror.history.record(self.alice)?.version == version)
            try await store.remove(self.alice, expecting: version)
            #expect(self.mirror.history.record(self.alice) == nil)
        }
    }

    @Test func `records of before the start are copied, the canary first, and what is about one copy is not`()
        async throws
    {
        // Given
        let names = ["accounts/a", "accounts/b", "canary", "replicas/1", "place", "audit/1"]
        for key in names.map({ RecordKey(rawValue: $0) }) {
            _ = try await self.primary.write(Self.value(1), at: key, expecting: nil)
        }
        let store = self.store()
        // When
        try await whileRunning([store]) { try await store.upToDate() }
        // Then
        let written = self.mirror.calls.filter { $0.operation == .write && $0.place != "mirror" }.map(\.place)
        #expect(written.first == "canary")
        #expect(written.sorted() == ["accounts/a", "accounts/b", "audit/1", "canary"])
        try await equal(self.mirror, self.primary)
    }

    @Test func `reads, listings and hints are the primary's`() async throws {
        let store = self.store()
        try await whileRunning([store]) {
            try await store.upToDate()
            _ = try await store.write(Self.value(1), at: self.alice, expecting: nil)
            self.mirror.fail(.spoiled)
            let hints = store.changes()
            _ = try await self.primary.write(Self.value(2), at: .account("bob"), expecting: nil)

            #expect(try await store.read(self.alice)?.value == Self.value(1))
            #expect(try await store.records(under: .accounts, after: nil, limit: 9).count == 2)
            try await within("a hint") { for await hint in hints where hint.key == .account("bob") { return } }
        }
    }

    // MARK: - Outages of the mirror

    @Test(arguments: [FaultyTokenStore.Fault.away, .full, .unanswered, .stalled])
    func `no call fails or takes long because of a mirror`(fault: FaultyTokenStore.Fault) async throws {
        var timing = MirrorTiming.short
        timing.patience = MirrorTiming().patience
        let store = self.store(timing)
        try await whileRunning([store]) {
            try await store.upToDate()
            let first = try await store.write(Self.value(1), at: self.alice, expecting: nil)
            self.mirror.fail(fault)

            // A write does not wait for the mirror's return,
            let second = try await within("the write") {
                try await store.write(Self.value(2), at: self.alice, expecting: first)
            }
            // and nobody waits for it any more
            try await store.behind()
            try await store.remove(self.alice, expecting: second)
            _ = try await store.write(Self.value(3), at: .account("bob"), expecting: nil)
            #expect(self.mirror.calls.count { $0.place.hasPrefix("accounts/bob") } == 0)

            self.mirror.recover()
            try await store.upToDate()
            try await equal(self.mirror, self.primary)
        }
    }

    @Test func `a mirror that comes back is caught up, and what was removed stays removed`() async throws {
        let store = self.store()
        try await whileRunning([store]) {
            try await store.upToDate()
            for number in 0..<300 {
                _ = try await store.write(Self.value(1), at: .account("\(number)"), expecting: nil)
            }
            self.mirror.fail(.away)
            for number in 0..<200 {
                let version = try #require(try await store.read(.account("\(number)"))).version
                if number.isMultiple(of: 2) {
                    try await store.remove(.account("\(number)"), expecting: version)
                } else {
                    _ = try await store.write(Self.value(2), at: .account("\(number)"), expecting: version)
                }
            }
            try await store.behind()
            #expect(try await differences(self.mirror.connect(), from: self.primary).count == 200)

            self.mirror.recover()
            try await store.upToDate()

            #expect(try await differences(self.mirror, from: self.primary) == [])
            #expect(self.mirror.history.record(.account("0")) == nil)
        }
    }

    @Test func `what is written while a mirror is caught up is on it in the end`() async throws {
        for number in 0..<3_000 {
            _ = try await self.primary.write(Self.value(1), at: .account("\(number)"), expecting: nil)
        }
        let store = self.store()
        try await whileRunning([store]) {
            // Given writes from the beginning of the comparison to its end, at keys that it has passed and others
            var round: UInt8 = 1
            while store.states[0].phase != .upToDate {
                round &+= 1
                for number in stride(from: 0, to: 3_000, by: 601) {
                    let key = RecordKey.account("\(number)")
                    let version = try await store.read(key)?.version
                    _ = try await store.write(Self.value(round), at: key, expecting: version)
                }
                // No call of these stores suspends, and the comparison needs a thread.
                await Task.yield()
            }
            // Then the mirror that is up to date has them all
            #expect(await store.flush(within: .seconds(60)))
            #expect(try await differences(self.mirror, from: self.primary) == [])
        }
    }

    // MARK: - Late writes and several gateways

    @Test func `a write to the mirror that lands after the removal is undone by a later comparison`() async throws {
        let store = self.store()
        try await whileRunning([store]) {
            try await store.upToDate()
            self.mirror.fail(.late(calls: .max), [.write], at: self.alice, times: 1)
            let version = try await store.write(Self.value(1), at: self.alice, expecting: nil)
            try await store.remove(self.alice, expecting: version)
            try await store.upToDate()

            self.mirror.landLateWrites()
            #expect(self.mirror.history.record(self.alice)?.version == version)

            try await equal(self.mirror, self.primary)
        }
    }

    @Test func `two gateways that write the same records at once leave equal stores`() async throws {
        let stores = [self.store(), self.store()]
        try await whileRunning(stores) {
            for store in stores { try await store.upToDate() }
            try await withThrowingTaskGroup { group in
                for (index, store) in (stores + stores).enumerated() {
                    group.addTask {
                        for round in 0..<60 {
                            let key = RecordKey.account("\(round % 7)")
                            if index == 0, round % 5 == 0, let record = try await store.read(key) {
                                try? await store.remove(key, expecting: record.version)
                            } else {
                                try await TokenStoreContract.countUp(key, in: store)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            for store in stores { #expect(await store.flush(within: .seconds(60))) }
            #expect(try await differences(self.mirror, from: self.primary) == [])
        }
    }

    @Test func `a write whose outcome at the primary is unknown is on the mirror too, if it was done`() async throws {
        let primary = self.primary.connect()
        let store = MirroringTokenStore(
            primary: primary,
            mirrors: [.init(name: "mirror", store: self.mirror)],
            timing: .short
        )
        try await whileRunning([store]) {
            try await store.upToDate()
            primary.fail(.unanswered, [.write], at: self.alice, times: 1)
            await #expect(throws: StoreError(.unreachable, "")) {
                _ = try await store.write(Self.value(1), at: self.alice, expecting: nil)
            }
            primary.fail(.late(calls: .max), [.write], at: .account("bob"), times: 1)
            await #expect(throws: StoreError(.unreachable, "")) {
                _ = try await store.write(Self.value(1), at: .account("bob"), expecting: nil)
            }
            try await equal(self.mirror, self.primary)
            self.primary.landLateWrites()

            #expect(self.primary.history.record(.account("bob")) != nil)
            try await equal(self.mirror, self.primary)
            #expect(store.states[0].phase == .upToDate)
        }
    }

    @Test func `a mirror is not behind because the primary is away`() async throws {
        let primary = self.primary.connect()
        let store = MirroringTokenStore(
            primary: primary,
            mirrors: [.init(name: "mirror", store: self.mirror)],
            timing: .short
        )
        try await whileRunning([store]) {
            try await store.upToDate()
            primary.fail(.away)
            _ = try? await store.write(Self.value(1), at: self.alice, expecting: nil)
            let before = self.mirror.count(of: .read, at: .canary)
            try await eventually("comparisons that fail") { self.mirror.count(of: .read, at: .canary) > before + 2 }

            #expect(store.states[0].phase == .upToDate)
            let mark = try MirrorMark(decoding: try #require(self.mirror.history.record(.mirror)).value)
            #expect(mark.state == .complete)
        }
    }

    @Test func `a mirror follows a primary that has lost its last writes`() async throws {
        let store = self.store()
        try await whileRunning([store]) {
            try await store.upToDate()
            for _ in 0..<5 { try await TokenStoreContract.countUp(self.alice, in: store) }
            _ = try await store.write(Self.value(1), at: .account("bob"), expecting: nil)
            #expect(self.mirror.history.record(self.alice)?.version == Version(5))

            self.primary.lose(4)

            try await equal(self.mirror, self.primary)
            #expect(self.mirror.history.record(self.alice)?.version == Version(2))
            #expect(self.mirror.history.record(.account("bob")) == nil)
        }
    }

    // MARK: - States and the end

    @Test func `states are told as they change`() async throws {
        let told = Mutex<[MirrorState]>([])
        let store = MirroringTokenStore(
            primary: self.primary,
            mirrors: [.init(name: "second.db", store: self.mirror)],
            timing: .short
        ) { state in told.withLock { $0.append(state) } }
        try await whileRunning([store]) {
            try await store.upToDate()
            try await eventually("a time") { store.states[0].completeAt != nil }
            self.mirror.fail(.away, times: 1)
            _ = try await store.write(Self.value(1), at: self.alice, expecting: nil)
            try await eventually("the mirror to be caught up") { told.withLock(\.count) >= 3 }
            let phases = told.withLock { $0.prefix(3).map(\.phase) }
            #expect(phases.first == .upToDate)
            #expect(phases.last == .upToDate)
            #expect(told.withLock { $0.allSatisfy { $0.name == "second.db" } })
        }
    }

    @Test func `a flush waits for what is on its way, and refreshes the mark`() async throws {
        var timing = MirrorTiming()
        timing.patience = .seconds(30)
        let store = self.store(timing)
        try await whileRunning([store]) {
            try await store.upToDate()
            try await eventually("a time") { store.states[0].completeAt != nil }
            let before = try #require(self.mirror.history.record(.mirror)).version
            _ = try await store.write(Self.value(1), at: self.alice, expecting: nil)

            #expect(await store.flush(within: .seconds(60)))
            #expect(try #require(self.mirror.history.record(.mirror)).version > before)
            self.mirror.fail(.away)
            _ = try await store.write(Self.value(1), at: .account("bob"), expecting: nil)
            #expect(await !store.flush(within: .seconds(10)))
            self.mirror.recover()
        }
        // and after the end of the work a write goes to the primary alone
        _ = try await store.write(Self.value(1), at: .account("carol"), expecting: nil)
        #expect(self.mirror.history.record(.account("carol")) == nil)
    }
}
