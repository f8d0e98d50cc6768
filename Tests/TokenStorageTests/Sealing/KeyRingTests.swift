import FoundationEssentials
import Testing
import TokenModel
import TokenStorage

struct KeyRingTests {
    private let ring = KeyRing(current: .random())
    private let context = SealingContext(store: StoreID("store"), key: .account("alice"), version: Version(7))
    private let unreadable = StoreError(.unreadable, "")

    @Test(arguments: [0, 1, 15, 16, 17, 4096, SealedBytes.maximumCount - SealedBytes.overhead])
    func `a sealed value opens in its context`(count: Int) throws {
        let plaintext = Secret((0..<count).map { UInt8(truncatingIfNeeded: $0) })

        let sealed = try self.ring.seal(plaintext, for: self.context)

        #expect(sealed.bytes.count == count + SealedBytes.overhead)
        #expect(try self.ring.open(sealed, for: self.context) == plaintext)
    }

    @Test func `a value too large for a store is not sealed`() {
        let plaintext = Secret([UInt8](repeating: 1, count: SealedBytes.maximumCount - SealedBytes.overhead + 1))

        #expect(throws: StoreError(.invalid, "")) { try self.ring.seal(plaintext, for: self.context) }
    }

    /// The bytes come from an independent implementation of the format (Python's `cryptography`).
    @Test func `bytes sealed by another implementation open`() throws {
        let key = try #require(SealingKey(Secret(Array(0..<32))))
        let base64 =
            "Ac2HEYFiqh+aZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1+f4CBgoPIycrLzM3Oz9DR0tMBn2JT29ARVeKIF3lhF5lh2cKAKE/Y"
            + "B83dbU+Z6Rpr+vO3+xOEIJU="
        let sealed = SealedBytes(bytes: Array(try #require(Data(base64Encoded: base64))))

        #expect(key.id.description == "cd87118162aa1f9a")
        #expect(
            try KeyRing(current: key).open(sealed, for: self.context) == Secret("a rotated refresh token")
        )
    }

    @Test func `two sealings of one plaintext have only the format and the key's id in common`() throws {
        let plaintext = Secret("refresh")
        let first = try self.ring.seal(plaintext, for: self.context).bytes
        let second = try self.ring.seal(plaintext, for: self.context).bytes

        let header = 1 + SealingKey.ID.byteCount
        #expect(first.prefix(header) == second.prefix(header))
        let (salt, nonce) = (header..<header + 32, header + 32..<header + 44)
        #expect(first[salt] != second[salt])
        #expect(first[nonce] != second[nonce])
        #expect(first[(header + 44)...] != second[(header + 44)...])
    }

    @Test func `bytes with any bit flipped do not open`() throws {
        let sealed = try self.ring.seal(Secret("refresh"), for: self.context)
        for index in sealed.bytes.indices {
            for bit in 0..<8 {
                var bytes = sealed.bytes
                bytes[index] ^= 1 << bit
                #expect(throws: self.unreadable, "byte \(index), bit \(bit)") {
                    try self.ring.open(SealedBytes(bytes: bytes), for: self.context)
                }
            }
        }
    }

    @Test func `truncated or extended bytes do not open`() throws {
        let sealed = try self.ring.seal(Secret("refresh"), for: self.context)
        for count in sealed.bytes.indices {
            #expect(throws: self.unreadable, "the first \(count) bytes") {
                try self.ring.open(SealedBytes(bytes: Array(sealed.bytes.prefix(count))), for: self.context)
            }
        }
        #expect(throws: self.unreadable) {
            try self.ring.open(SealedBytes(bytes: sealed.bytes + [0]), for: self.context)
        }
        #expect(throws: self.unreadable) {
            let huge = sealed.bytes + [UInt8](repeating: 0, count: SealedBytes.maximumCount)
            return try self.ring.open(SealedBytes(bytes: huge), for: self.context)
        }
    }

    @Test(arguments: [
        SealingContext(store: StoreID("other"), key: .account("alice"), version: Version(7)),
        SealingContext(store: StoreID("store"), key: .account("bob"), version: Version(7)),
        SealingContext(store: StoreID("store"), key: .account("alice"), version: Version(8)),
        SealingContext(store: StoreID("store"), key: .account("alice"), version: Version(6)),
        SealingContext(store: StoreID("stor"), key: RecordKey(rawValue: "eaccounts/alice"), version: Version(7)),
        SealingContext(store: StoreID("storeaccounts/alice"), key: RecordKey(rawValue: ""), version: Version(7)),
    ])
    func `bytes moved to another store, key or version do not open`(elsewhere: SealingContext) throws {
        let sealed = try self.ring.seal(Secret("refresh"), for: self.context)

        #expect(throws: self.unreadable) { try self.ring.open(sealed, for: elsewhere) }
    }

    @Test func `a retired key opens what it sealed, and the ring says what to reseal`() throws {
        let sealed = try self.ring.seal(Secret("refresh"), for: self.context)
        let rotated = KeyRing(current: .random(), retired: [.random(), self.ring.current])

        #expect(try rotated.open(sealed, for: self.context) == Secret("refresh"))
        #expect(rotated.sealsAnew(sealed))
        #expect(!rotated.sealsAnew(try rotated.seal(Secret("refresh"), for: self.context)))
    }

    @Test func `the error of a ring without the key names the missing key and the present one`() throws {
        let sealed = try self.ring.seal(Secret("refresh"), for: self.context)
        let other = KeyRing(current: .random())

        let error = #expect(throws: self.unreadable) { try other.open(sealed, for: self.context) }

        #expect(error?.message.contains(self.ring.current.id.description) == true)
        #expect(error?.message.contains(other.current.id.description) == true)
    }

    @Test(arguments: [0, 16, 31, 33, 64])
    func `a key has 32 bytes`(count: Int) {
        #expect(SealingKey(Secret([UInt8](repeating: 1, count: count))) == nil)
    }

    @Test func `keys are not printed`() {
        let key = SealingKey(Secret([UInt8](repeating: 0x41, count: 32)))
        var dumped = ""
        dump(key, to: &dumped)

        #expect(!dumped.contains("AAAA"))
        #expect(!dumped.contains("65"))
        #expect(dumped.contains("<redacted>"))
    }
}
