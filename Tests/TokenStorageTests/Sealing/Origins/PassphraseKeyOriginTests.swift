import TestKit
import Testing
import TokenModel
import TokenStorage

/// Keys in an envelope that a passphrase opens.
struct PassphraseKeyOriginTests {
    private let directory: TemporaryDirectory
    private let origin: PassphraseKeyOrigin
    private let passphrase = Secret("correct horse battery")
    private static let file = "sealing.envelope"
    private static let costs = ScryptCosts(rounds: 1 << 10, blockSize: 8, parallelism: 1)

    init() throws {
        self.directory = try TemporaryDirectory()
        self.origin = Self.origin(in: self.directory)
    }

    private static func origin(in directory: TemporaryDirectory, isMade: Bool = true) -> PassphraseKeyOrigin {
        PassphraseKeyOrigin(path: directory.path(of: Self.file), isMadeWhenMissing: isMade, costs: Self.costs)
    }

    private func keys(_ passphrase: Secret) async throws -> any KeyRingSource {
        try await self.origin.keys(offered: .passphrase(passphrase))
    }

    private func put(_ envelope: String) throws {
        try write(envelope, to: self.directory.path(of: Self.file), mode: 0o600)
    }

    @Test func `without a passphrase there are no keys, only a need`() async throws {
        #expect(self.origin.need == .passphrase)
        await #expect(throws: KeyRingError(.passphraseNeeded, "")) { _ = try await self.origin.keys(offered: nil) }
    }

    @Test func `the first opening of a new store makes an envelope for its owner, and later ones get the same key`()
        async throws
    {
        let store = MemoryTokenStore()

        let opened = try await OpenedStore.open(store, keys: try await self.keys(self.passphrase))

        #expect(try self.directory.mode(of: Self.file) == 0o600)
        #expect(try self.directory.contents() == [Self.file])
        let again = try await OpenedStore.open(store, keys: try await self.keys(self.passphrase))
        #expect(again.storeID == opened.storeID)
        #expect(again.keyRing == opened.keyRing)
    }

    @Test func `no envelope is made for a store that is sealed already`() async throws {
        let store = MemoryTokenStore()
        _ = try await OpenedStore.open(store, keys: GivenKeyRing(KeyRing(current: .random()), name: "KEY"))
        let keys = try await self.keys(self.passphrase)

        let error = await #expect(throws: StoreError(.unreadable, "")) {
            _ = try await OpenedStore.open(store, keys: keys)
        }

        #expect(error?.message.contains("its key is missing at \(self.origin.name)") == true)
        #expect(try self.directory.contents() == [])
    }

    @Test func `a replica of a shared store makes no envelope`() async throws {
        let origin = Self.origin(in: self.directory, isMade: false)

        let error = await #expect(throws: KeyRingError(.missing, "")) {
            _ = try await origin.keys(offered: .passphrase(self.passphrase))
        }

        #expect(error?.message.contains("copy it from another replica") == true)
    }

    @Test func `if two make the envelope at once, the second gives its passphrase again`() async throws {
        let (first, second) = (try await self.keys(self.passphrase), try await self.keys(self.passphrase))
        _ = try first.make()

        #expect(throws: KeyRingError(.inaccessible, "")) { _ = try second.make() }
        #expect(try await self.keys(self.passphrase).existing() == first.existing())
    }

    @Test(arguments: ["", "correct horse batter", "correct horse battery\n", "Correct horse battery"])
    func `another passphrase does not open the envelope, and is not repeated`(other: String) async throws {
        _ = try await self.keys(self.passphrase).make()

        let error = await #expect(throws: KeyRingError(.passphraseWrong, "")) { _ = try await self.keys(Secret(other)) }

        #expect(error?.message.lowercased().contains("horse") == false)
    }

    @Test(arguments: [("elevenchars", false), ("twelve chars", true), ("äöüäöüäöüäö", false), ("äöüäöüäöüäöü", true)])
    func `a new passphrase has at least 12 characters`(passphrase: String, isLongEnough: Bool) async throws {
        do {
            _ = try await self.keys(Secret(passphrase)).make()
            #expect(isLongEnough)
        } catch let error as KeyRingError {
            #expect(!isLongEnough)
            #expect(error.code == .passphraseUnfit)
        }
    }

    @Test(
        arguments: [
            (String(repeating: "é", count: 512).utf8.map(\.self), nil),
            (String(repeating: "é", count: 512).utf8 + [0x61], "more than 1024 bytes"),
            (Array("correct horse batter".utf8) + [0xC3], "not text in UTF-8"),
            (Array("correct horse\nbattery".utf8), "a line break"),
        ] as [([UInt8], String?)]
    )
    func `a passphrase that no unlock could bring is no new one`(passphrase: [UInt8], reason: String?) async throws {
        do {
            _ = try await self.keys(Secret(passphrase)).make()
            #expect(reason == nil)
        } catch let error as KeyRingError {
            #expect(error.code == .passphraseUnfit)
            #expect(reason.map(error.message.contains) == true, "\(error.message)")
        }
    }

    @Test func `an envelope that another program has made opens`() async throws {
        // Made with Python's hashlib.scrypt and the AESGCM of its cryptography package.
        try self.put(
            "martlet-envelope-1 scrypt 1024 8 1 AAECAwQFBgcICQoLDA0ODw== ZGVmZ2hpamtsbW5vNJdDls5aMAQsJAR1RIDQzbdGNVnA2zbaREB"
                + "fl3k6bdXamPpuSJzXkiArvfsYEyAmPaGv9/cYqWXUlj9er+aVUQ1cnHY=\n"
        )

        let ring = try await self.keys(Secret("korrekt höchst Ω")).existing()

        #expect(ring?.current == SealingKey(Secret([UInt8](repeating: 7, count: 32))))
    }

    @Test(arguments: 2..<7) func `an envelope that was changed anywhere does not open`(word: Int) async throws {
        _ = try await self.keys(self.passphrase).make()
        let text = String(decoding: try #require(self.directory.bytes(of: Self.file)), as: UTF8.self)
        var words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        let changes = [2: "2048", 3: "4", 4: "2", 5: "AAECAwQFBgcICQoLDA0ODw=="]
        words[word] = changes[word] ?? (words[word].hasPrefix("A") ? "B" : "A") + words[word].dropFirst()
        try self.put(words.joined(separator: " "))

        await #expect(throws: KeyRingError(.passphraseWrong, "")) { _ = try await self.keys(self.passphrase) }
    }

    @Test(arguments: [
        "", "AAAA", "martlet-envelope-2 scrypt 1024 8 1 AAECAwQFBgcICQoLDA0ODw== AAAA",
        "martlet-envelope-1 argon2 1024 8 1 AAECAwQFBgcICQoLDA0ODw== AAAA",
        "martlet-envelope-1 scrypt 1024 8 1 AAAA AAAA", "martlet-envelope-1 scrypt 1024 8 1 AAECAwQFBgcICQoLDA0ODw==",
        "martlet-envelope-1 scrypt 1024 8 1 AAECAwQFBgcICQoLDA0ODw== %",
        "martlet-envelope-1 scrypt 1024 8 1 AAECAwQFBgcICQoLDA0ODw== AAAA AAAA",
        "martlet-envelope-1 scrypt x 8 1 AAECAwQFBgcICQoLDA0ODw== AAAA",
        // Costs that nobody should have to bear, or that no passphrase should rely on.
        "martlet-envelope-1 scrypt 2097152 1 1 AAECAwQFBgcICQoLDA0ODw== AAAA",
        "martlet-envelope-1 scrypt 1048576 16 1 AAECAwQFBgcICQoLDA0ODw== AAAA",
        "martlet-envelope-1 scrypt 262144 9 1 AAECAwQFBgcICQoLDA0ODw== AAAA",
        "martlet-envelope-1 scrypt 1000 8 1 AAECAwQFBgcICQoLDA0ODw== AAAA",
        "martlet-envelope-1 scrypt 512 8 1 AAECAwQFBgcICQoLDA0ODw== AAAA",
        "martlet-envelope-1 scrypt 1025 8 1 AAECAwQFBgcICQoLDA0ODw== AAAA",
        "martlet-envelope-1 scrypt 1024 0 1 AAECAwQFBgcICQoLDA0ODw== AAAA",
        "martlet-envelope-1 scrypt 1024 17 1 AAECAwQFBgcICQoLDA0ODw== AAAA",
        "martlet-envelope-1 scrypt 1024 8 0 AAECAwQFBgcICQoLDA0ODw== AAAA",
        "martlet-envelope-1 scrypt 1024 8 5 AAECAwQFBgcICQoLDA0ODw== AAAA",
        "martlet-envelope-1 scrypt -1024 8 1 AAECAwQFBgcICQoLDA0ODw== AAAA",
        "martlet-envelope-1 scrypt 9223372036854775807 9223372036854775807 1 AAECAwQFBgcICQoLDA0ODw== AAAA",
    ])
    func `a file that is no envelope, or names costs out of bounds, is refused`(text: String) async throws {
        try self.put(text)

        await #expect(throws: KeyRingError(.malformed, "")) { _ = try await self.keys(self.passphrase) }
    }

    @Test(arguments: [0o640, 0o604, 0o602]) func `an envelope that others can read or write is refused`(
        mode: Int
    ) async throws {
        _ = try await self.keys(self.passphrase).make()
        try self.directory.setMode(mode, of: Self.file)

        await #expect(throws: KeyRingError(.exposed, "")) { _ = try await self.keys(self.passphrase) }
    }

    // MARK: - Changing it

    @Test func `a changed passphrase opens the same keys, and the old one opens nothing`() async throws {
        let made = try await self.keys(self.passphrase).make()

        try await self.origin.change(self.passphrase, to: Secret("another passphrase"))

        #expect(try await self.keys(Secret("another passphrase")).existing() == made)
        await #expect(throws: KeyRingError(.passphraseWrong, "")) { _ = try await self.keys(self.passphrase) }
        #expect(try self.directory.contents() == [Self.file])
    }

    @Test func `a change needs the present passphrase, and leaves the envelope as it is without it`() async throws {
        _ = try await self.keys(self.passphrase).make()
        let before = self.directory.bytes(of: Self.file)

        await #expect(throws: KeyRingError(.passphraseWrong, "")) {
            try await self.origin.change(Secret("a wrong passphrase"), to: Secret("another passphrase"))
        }
        await #expect(throws: KeyRingError(.inaccessible, "")) {
            try await self.origin.change(nil, to: Secret("another passphrase"))
        }
        await #expect(throws: KeyRingError(.passphraseUnfit, "")) {
            try await self.origin.change(self.passphrase, to: Secret("short"))
        }
        await #expect(throws: KeyRingError(.malformed, "")) {
            try await self.origin.change(self.passphrase, to: Secret("another passphrase"), keys: Secret("no key"))
        }

        #expect(self.directory.bytes(of: Self.file) == before)
    }

    @Test func `an envelope that other keys replace is kept`() async throws {
        let first = try await self.keys(self.passphrase).make()
        let before = self.directory.bytes(of: Self.file)
        let file = KeyRingFile(path: self.directory.path(of: "a.key"), isMadeWhenMissing: true)
        let second = try file.make()
        let text = Secret(try #require(self.directory.bytes(of: "a.key")))

        try await self.origin.change(self.passphrase, to: Secret("another passphrase"), keys: text)

        #expect(try await self.keys(Secret("another passphrase")).existing() == second)
        #expect(self.origin.formerName == self.directory.path(of: "sealing.envelope.old"))
        #expect(self.directory.bytes(of: "sealing.envelope.old") == before)
        #expect(try self.directory.mode(of: "sealing.envelope.old") == 0o600)
        let former = PassphraseKeyOrigin(path: self.origin.formerName, isMadeWhenMissing: false)
        #expect(try await former.keys(offered: .passphrase(self.passphrase)).existing() == first)
    }

    @Test func `the keys of a key file go into an envelope and back`() async throws {
        let file = KeyRingFile(path: self.directory.path(of: "a.key"), isMadeWhenMissing: true)
        _ = try file.make()
        let ring = try file.add(.random())

        let text = Secret(try #require(self.directory.bytes(of: "a.key")))
        try await self.origin.change(nil, to: self.passphrase, keys: text)
        #expect(try await self.keys(self.passphrase).existing() == ring)

        let path = self.directory.path(of: "b.key")
        try await self.origin.export(self.passphrase, to: path)
        #expect(self.directory.bytes(of: "b.key") == self.directory.bytes(of: "a.key"))
        #expect(try self.directory.mode(of: "b.key") == 0o600)
        await #expect(throws: KeyRingError(.inaccessible, "")) {
            try await self.origin.export(self.passphrase, to: path)
        }
    }
}
