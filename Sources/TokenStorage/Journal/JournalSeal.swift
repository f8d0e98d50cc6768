package import TokenModel

/// Turns entries of one boot's journal into what stands on the disk, and back.
package struct JournalSeal: Sendable {
    private let keyRing: KeyRing
    private let storeID: StoreID
    private let key: RecordKey

    /// - Parameter boot: whose journal it is; what is sealed for one boot does not open as another's.
    package init(_ boot: BootID, keyRing: KeyRing, storeID: StoreID) {
        self.keyRing = keyRing
        self.storeID = storeID
        self.key = RecordKey(rawValue: "journal/\(boot)")
    }

    /// How many bytes the frame of an entry has.
    package static func count(of plaintext: Secret) -> Int {
        JournalFrame.headerCount + SealedBytes.overhead + plaintext.count
    }

    /// The frame of an entry that is to begin at `block`.
    package func frame(of plaintext: Secret, at block: Int) throws(StoreError) -> [UInt8] {
        JournalFrame.bytes(of: try self.keyRing.seal(plaintext, for: self.context(block)))
    }

    /// The entries in the bytes of a file, whatever they are; what is torn, moved or not ours is passed over.
    package func entries(in file: [UInt8]) -> [JournalEntry] {
        var entries: [JournalEntry] = []
        JournalFrame.scan(file) { sealed, block in
            guard let plaintext = try? self.keyRing.open(sealed, for: self.context(block)),
                let entry = try? JournalEntry(decoding: plaintext)
            else { return false }
            entries.append(entry)
            return true
        }
        return entries
    }

    private func context(_ block: Int) -> SealingContext {
        SealingContext(store: self.storeID, key: self.key, version: Version(UInt64(block) + 1))
    }
}
