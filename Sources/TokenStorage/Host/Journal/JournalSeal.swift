package import TokenModel

/// Turns entries of one incarnation's journal into what stands on the disk, and back.
package struct JournalSeal: Sendable {
    private let keys: LiveKeyRing
    private let storeID: StoreID
    private let key: RecordKey

    /// - Parameter boot: whose journal it is; what is sealed for one incarnation does not open as another's.
    package init(_ incarnation: IncarnationID, keyRing: KeyRing, storeID: StoreID) {
        self.init(incarnation, keys: LiveKeyRing(keyRing), storeID: storeID)
    }

    /// - Parameter keys: as they come to be; what is kept long after the start is under the key that seals then.
    package init(_ incarnation: IncarnationID, keys: LiveKeyRing, storeID: StoreID) {
        self.keys = keys
        self.storeID = storeID
        self.key = RecordKey(rawValue: "journal/\(incarnation)")
    }

    /// How many bytes the frame of an entry has.
    package static func count(of plaintext: Secret) -> Int {
        JournalFrame.headerCount + SealedBytes.overhead + plaintext.count
    }

    /// The frame of an entry that is to begin at `block`.
    package func frame(of plaintext: Secret, at block: Int) throws(StoreError) -> [UInt8] {
        self.keys.followUnproven()
        return JournalFrame.bytes(of: try self.keys.ring.seal(plaintext, for: self.context(block)))
    }

    /// The entries in the bytes of a file, whatever they are; what does not open is passed over.
    package func entries(in file: [UInt8]) -> [JournalEntry] { self.contents(of: file).entries }

    /// What stands in the bytes of a file, whatever they are; what is torn, moved or not ours is passed over.
    package func contents(of file: [UInt8]) -> JournalContents {
        var contents = JournalContents()
        JournalFrame.scan(file) { sealed, block, isSettled in
            guard let layout = try? sealed.layout() else {
                // What was torn in its first bytes has zeroes there.
                if let format = sealed.bytes.first, format != 0, format != SealedBytes.Layout.format {
                    contents.foreign += 1
                    contents.keyless += 1
                }
                return false
            }
            // It was torn: behind that stands nothing.
            guard layout.tag.contains(where: { $0 != 0 }) else { return false }
            contents.byKey[layout.keyID, default: 0] += 1
            guard let plaintext = try? self.keys.open(sealed, for: self.context(block)) else {
                if !self.keys.ring.holds(layout.keyID) { contents.locked[layout.keyID, default: 0] += 1 }
                return false
            }
            guard let entry = try? JournalEntry(decoding: plaintext) else {
                contents.foreign += 1
                return true
            }
            if isSettled { contents.settled.append(entry) } else { contents.entries.append(entry) }
            return true
        }
        return contents
    }

    private func context(_ block: Int) -> SealingContext {
        SealingContext(store: self.storeID, key: self.key, version: Version(UInt64(block) + 1))
    }
}
