import TestKit
import Testing
import TokenModel
import TokenStorage

/// Changing the key of a store that several hosts share, each with a key file of its own.
struct SharedKeyTests {
    private let directory: TemporaryDirectory
    private let store = FaultyTokenStore(StoreGuarantees(reach: .network, failover: .losesSuffix))
    private let files: [KeyRingFile]
    /// The gateways of two hosts.
    private let gateways: [OpenedStore]
    private let first: SealingKey.ID

    init() async throws {
        self.directory = try TemporaryDirectory()
        let paths = ["a.key", "b.key"].map(self.directory.path(of:))
        _ = try KeyRingFile(path: paths[0], isMadeWhenMissing: true).make()
        try self.directory.copy("a.key", to: "b.key")
        self.files = paths.map { KeyRingFile(path: $0, isMadeWhenMissing: false) }
        self.gateways = [
            try await OpenedStore.open(self.store, keys: self.files[0]),
            try await OpenedStore.open(self.store, keys: self.files[1]),
        ]
        self.first = self.gateways[0].keyRing.current.id
    }

    private func rekey(
        retires: Bool = false,
        missingAt: [String] = [],
        lagging: [String] = []
    ) async throws -> Rekeying.Outcome {
        let opened = try await OpenedStore.openExisting(self.store, keys: self.files[0])
        let replicas = Rekeying.Replicas(without: { _ in missingAt }, notSealing: { _ in lagging })
        let rekeying = try Rekeying(opened, keys: self.files[0], settling: .zero, replicas: replicas)
        return try await rekeying.run(retires: retires)
    }

    /// - Returns: the key under which the gateway of that host seals.
    private func keyOfWrite(by gateway: OpenedStore) async throws -> SealingKey.ID? {
        let key = RecordKey.account("account-\(UInt64.random(in: .min ... .max))")
        _ = try await gateway.records.write(Secret("value"), at: key, expecting: nil)
        return try await self.store.read(key)?.value.keyID
    }

    @Test func `a new key seals nothing as long as a replica lacks it`() async throws {
        let outcome = try await self.rekey(missingAt: ["b"])

        #expect(outcome.keyAdded)
        #expect(outcome.missingAt == ["b"])
        #expect(outcome.resealing.resealed == 0)
        for gateway in self.gateways {
            try await gateway.records.followCanary()
            #expect(try await self.keyOfWrite(by: gateway) == self.first)
        }
    }

    @Test func `a new key seals no success in a journal as long as a replica lacks it`() async throws {
        _ = try await self.rekey(missingAt: ["b"])
        let (gateway, folder) = (self.gateways[0], self.directory.path)
        let register = try IncarnationRegistry(.random(), in: folder, gateway, journal: .least) { _, _ in }

        #expect(await register.keep(.sample(grant: "g", generation: 2), for: AccountID("alice")) != nil)

        #expect(gateway.surveyJournals(in: folder).byKey == [self.first: 1])
        await register.close()
    }

    @Test func `the next run goes on with the key that was added`() async throws {
        let added = try await self.rekey(missingAt: ["b"])
        let again = try await self.rekey(missingAt: ["b"])
        #expect(again.key == added.key)
        #expect(!again.keyAdded)
    }

    @Test func `once all replicas have it, all seal under it, whatever the order of their files`() async throws {
        let added = try await self.rekey(missingAt: ["b"])
        try self.directory.reverseLines(of: "a.key", into: "b.key")

        let outcome = try await self.rekey()

        #expect(outcome.missingAt == [])
        #expect(outcome.key == added.key)
        #expect(outcome.resealing.isComplete)
        #expect(try await self.store.read(.canary)?.value.keyID == added.key)
        for gateway in self.gateways {
            try await gateway.records.followCanary()
            #expect(try await self.keyOfWrite(by: gateway) == added.key)
        }
    }

    @Test func `a gateway that has not looked yet goes on under the old key, and all read what it writes`() async throws
    {
        _ = try await self.rekey(missingAt: ["b"])
        try self.directory.copy("a.key", to: "b.key")
        #expect(try await self.keyOfWrite(by: self.gateways[1]) == self.first)
        _ = try await self.rekey()

        let key = RecordKey.account("late")
        _ = try await self.gateways[1].records.write(Secret("value"), at: key, expecting: nil)

        #expect(try await self.store.read(key)?.value.keyID == self.first)
        #expect(try await self.gateways[0].records.read(key)?.plaintext == Secret("value"))
    }

    @Test func `a gateway without the new key can't start any more`() async throws {
        _ = try await self.rekey()
        let error = await #expect(throws: StoreError.self) {
            _ = try await OpenedStore.open(self.store, keys: self.files[1])
        }
        #expect(error?.message.contains("wrong sealing key") == true)
    }

    @Test func `a key that waits for a replica stays when old ones are retired, and seals nothing`() async throws {
        let added = try await self.rekey(missingAt: ["b"])
        let outcome = try await self.rekey(retires: true)
        #expect(outcome.retired == [])
        #expect(try self.files[0].existing()?.ids == [added.key, self.first])
        #expect(try await self.store.read(.canary)?.value.keyID == self.first)
    }

    @Test func `the old key stays while a replica that is cut off may still seal under it`() async throws {
        _ = try await self.rekey()
        let retired = try await self.rekey(retires: true, lagging: ["b"])
        #expect(retired.retired == [])
        #expect(retired.missingAt == ["b"])
        #expect(try self.files[0].existing()?.holds(self.first) == true)
    }

    @Test func `a key that was replaced does not come back because it stands first in a file`() async throws {
        let outcome = try await self.rekey()
        try self.directory.reverseLines(of: "a.key", into: "a.key")
        for retires in [false, true] {
            await #expect(throws: KeyRingError(.malformed, "")) { _ = try await self.rekey(retires: retires) }
        }
        #expect(try await self.store.read(.canary)?.value.keyID == outcome.key)
        #expect(try self.files[0].existing()?.ids == [self.first, outcome.key])
    }

    @Test func `the old key is retired when nothing is under it`() async throws {
        let outcome = try await self.rekey()
        let retired = try await self.rekey(retires: true)
        #expect(retired.retired == [self.first])
        #expect(try self.files[0].existing()?.ids == [outcome.key])
    }
}

extension TemporaryDirectory {
    fileprivate func copy(_ name: String, to other: String) throws {
        try self.write(try #require(self.bytes(of: name)), to: other)
        try self.setMode(0o600, of: other)
    }

    fileprivate func reverseLines(of name: String, into other: String) throws {
        let text = String(decoding: try #require(self.bytes(of: name)), as: UTF8.self)
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        try self.write(Array((lines.reversed().joined(separator: "\n") + "\n").utf8), to: other)
        try self.setMode(0o600, of: other)
    }
}
