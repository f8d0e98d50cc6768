import Testing
import TokenModel
import TokenStorage

/// Journal entries that this process can't read and that must not be lost for that reason.
@Suite struct JournalContentsTests {
    private let key = SealingKey.random()
    private let incarnation = IncarnationID.random()
    private let storeID = StoreID.random()
    private let entry = JournalEntry(account: AccountID("alice"), record: .sample(grant: "g", generation: 2))

    private func seal(_ key: SealingKey) -> JournalSeal {
        JournalSeal(self.incarnation, keyRing: KeyRing(current: key), storeID: self.storeID)
    }

    private func file() throws -> [UInt8] {
        let frame = try self.seal(self.key).frame(of: self.entry.encoded(), at: 0)
        return frame + [UInt8](repeating: 0, count: 16_384 - frame.count)
    }

    @Test func `an entry under a missing key is counted under that key`() throws {
        let contents = self.seal(.random()).contents(of: try self.file())

        #expect(contents.entries.isEmpty)
        #expect(contents.byKey == [self.key.id: 1])
        #expect(contents.locked == [self.key.id: 1])
        #expect(contents.unopened == 1)
    }

    @Test func `an entry that opens is not counted as unopened`() throws {
        let contents = self.seal(self.key).contents(of: try self.file())

        #expect(contents.entries == [self.entry])
        #expect(contents.byKey == [self.key.id: 1])
        #expect(contents.unopened == 0)
    }

    @Test func `an entry torn during its write is not counted as unopened, whatever its key`() throws {
        let file = try self.file()
        let count = JournalSeal.count(of: self.entry.encoded())
        let other = self.seal(.random())
        for end in 0..<count - 16 {
            let torn = Array(file[..<end]) + [UInt8](repeating: 0, count: file.count - end)

            #expect(other.contents(of: torn).unopened == 0, "torn at \(end)")
        }
    }

    @Test func `an entry in the form of a newer version is counted as foreign`() throws {
        var file = try self.file()
        file[JournalFrame.headerCount] = 2

        #expect(self.seal(self.key).contents(of: file).foreign == 1)
        #expect(self.seal(self.key).contents(of: file).unopened == 1)
        #expect(self.seal(self.key).contents(of: file).keyless == 1)
    }
}
