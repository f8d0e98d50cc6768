import Testing
import TokenModel
import TokenStorage

/// What a process that is killed at any point leaves in its journal.
@Suite struct JournalSealTests {
    private let keyRing = KeyRing(current: .random())
    private let storeID = StoreID.random()
    private let incarnation = IncarnationID.random()
    private let first = JournalEntry(account: AccountID("alice"), record: .sample(grant: "g", generation: 2))
    private let second = JournalEntry(account: AccountID("bob"), record: .sample(grant: "h", generation: 7))

    private var seal: JournalSeal { JournalSeal(self.incarnation, keyRing: self.keyRing, storeID: self.storeID) }

    /// A file with both entries, the second at block 4.
    private func file() throws -> (bytes: [UInt8], second: Range<Int>) {
        var file = [UInt8](repeating: 0, count: 8 * 512)
        let first = try self.seal.frame(of: self.first.encoded(), at: 0)
        let second = try self.seal.frame(of: self.second.encoded(), at: 4)
        file.replaceSubrange(0..<first.count, with: first)
        let range = 4 * 512..<4 * 512 + second.count
        file.replaceSubrange(range, with: second)
        return (file, range)
    }

    @Test func `entries are read back in the order of their blocks`() throws {
        let file = try self.file()

        #expect(self.seal.entries(in: file.bytes) == [self.first, self.second])
        #expect(file.second.count == JournalSeal.count(of: self.second.encoded()))
    }

    @Test func `each write of an entry at one place has a new salt, nonce and ciphertext`() throws {
        let frames = try (1...2).map { _ in try self.seal.frame(of: self.first.encoded(), at: 0) }
        let sealed = frames.map { Array($0[JournalFrame.headerCount...]) }
        #expect(sealed[0].count == sealed[1].count)
        #expect(sealed[0].placesShared(with: sealed[1], behind: [UInt8].sealedHeader) == [])
    }

    @Test func `I19_an entry torn at any of its bytes is skipped, and the entry before it is kept`() throws {
        let file = try self.file()
        for end in file.second {
            var torn = file.bytes
            for index in end..<file.second.upperBound { torn[index] = 0 }
            // The last byte of the tag may be 0 already.
            guard torn != file.bytes else { continue }

            #expect(self.seal.entries(in: torn) == [self.first], "torn at \(end)")
            #expect(self.seal.entries(in: Array(file.bytes[..<end])) == [self.first], "cut off at \(end)")
        }
    }

    @Test func `I17_an entry with a flipped bit is skipped`() throws {
        let file = try self.file()
        for index in file.second {
            var flipped = file.bytes
            flipped[index] ^= 0x10

            #expect(self.seal.entries(in: flipped) == [self.first], "byte \(index)")
        }
    }

    @Test func `an entry after a torn one is still read`() throws {
        var file = try self.file().bytes
        file[40] ^= 1

        #expect(self.seal.entries(in: file) == [self.second])
    }

    @Test func `I17_an entry at another block, or of another boot, store or key does not open`() throws {
        let frame = try self.seal.frame(of: self.first.encoded(), at: 0)
        let moved = [UInt8](repeating: 0, count: 512) + frame
        let others = [
            JournalSeal(.random(), keyRing: self.keyRing, storeID: self.storeID),
            JournalSeal(self.incarnation, keyRing: KeyRing(current: .random()), storeID: self.storeID),
            JournalSeal(self.incarnation, keyRing: self.keyRing, storeID: .random()),
        ]

        #expect(self.seal.entries(in: frame) == [self.first])
        #expect(self.seal.entries(in: moved).isEmpty)
        for other in others { #expect(other.entries(in: frame).isEmpty) }
    }

    @Test func `I16_the file contains no token`() throws {
        let file = try self.file().bytes

        for token in ["at-2", "rt-2", "at-7", "rt-7", "alice"] {
            #expect(!String(decoding: file, as: UTF8.self).contains(token))
        }
    }
}
