package import TokenModel

/// Converts the entries of one incarnation's journal to and from their form on disk.
package struct JournalSeal: Sendable {
    private let keys: LiveKeyRing
    private let storeID: StoreID
    private let key: RecordKey

    /// Entries sealed for `incarnation` do not open as entries of another incarnation.
    package init(_ incarnation: IncarnationID, keyRing: KeyRing, storeID: StoreID) {
        self.init(incarnation, keys: LiveKeyRing(keyRing), storeID: storeID)
    }

    /// - Parameter keys: the current keys. An entry written long after the start is sealed under the key that seals
    ///   then.
    package init(_ incarnation: IncarnationID, keys: LiveKeyRing, storeID: StoreID) {
        self.keys = keys
        self.storeID = storeID
        self.key = RecordKey(rawValue: "journal/\(incarnation)")
    }

    /// The number of bytes in the frame of an entry.
    package static func count(of plaintext: Secret) -> Int {
        JournalFrame.headerCount + SealedBytes.overhead + plaintext.count
    }

    /// The frame of an entry that begins at `block`.
    package func frame(of plaintext: Secret, at block: Int) throws(StoreError) -> [UInt8] {
        self.keys.followUnproven()
        return JournalFrame.bytes(of: try self.keys.ring.seal(plaintext, for: self.context(block)))
    }

    /// The unsettled entries in the bytes of a file, whatever the bytes are. What does not open is skipped.
    package func entries(in file: [UInt8]) -> [JournalEntry] { self.contents(of: file).entries }

    /// The contents of the bytes of a file, whatever the bytes are. Torn, moved and foreign frames are skipped.
    package func contents(of file: [UInt8]) -> JournalContents {
        var contents = JournalContents()
        JournalFrame.scan(file) { sealed, block, isSettled in
            guard let layout = try? sealed.layout() else {
                // A frame that was torn in its first bytes has zeros there.
                if let format = sealed.bytes.first, format != 0, format != SealedBytes.Layout.format {
                    contents.foreign += 1
                    contents.keyless += 1
                }
                return false
            }
            // The frame was torn: its last bytes were never written.
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

/// The contents of a journal file.
package struct JournalContents: Equatable, Sendable {
    /// The unsettled entries that opened, in file order.
    package internal(set) var entries: [JournalEntry] = []
    /// The settled entries that opened. The store needs them only if it has lost them since.
    package internal(set) var settled: [JournalEntry] = []
    /// The number of entries that name each key, whether they open or not.
    package internal(set) var byKey: [SealingKey.ID: Int] = [:]
    /// The number of entries by key, for keys that are not known. Such a key may come back, so these entries must be
    /// kept.
    package internal(set) var locked: [SealingKey.ID: Int] = [:]
    /// The number of entries in an unknown format: a newer version wrote them, or they are damaged.
    package internal(set) var foreign = 0
    /// The number of these entries that do not even show their key, which may be any key.
    package internal(set) var keyless = 0

    package init() {}

    /// The number of entries that may be new tokens and can't be read here.
    package var unopened: Int { self.locked.values.reduce(self.foreign, +) }
}

/// A success that the store has not taken: an account, and its new record.
package struct JournalEntry: Equatable, Sendable {
    package let account: AccountID
    package let record: AccountRecord

    package init(account: AccountID, record: AccountRecord) {
        self.account = account
        self.record = record
    }

    private static let format: UInt8 = 1

    /// The bytes to seal.
    package func encoded() -> Secret {
        let writer = FieldWriter(format: Self.format)
        writer.write(self.account.rawValue)
        writer.write(self.record.encoded())
        return writer.finish()
    }

    /// Reads what ``encoded()`` wrote.
    package init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: Self.format...Self.format)
        self.account = AccountID(rawValue: try reader.read())
        self.record = try AccountRecord(decoding: try reader.read())
        try reader.finish()
    }

    /// Whether the store still needs this entry: its record has the same grant and an earlier generation. That record
    /// may have been claimed, declared dead or adopted for another client since. New tokens are worth more than any of
    /// these.
    ///
    /// - Parameter stored: the record in the store; `nil`: the store has lost it, because account records are never
    ///   removed.
    package func isOwed(to stored: AccountRecord?) -> Bool {
        guard let stored else { return true }
        return stored.grant == self.record.grant && stored.generation < self.record.generation
    }
}

/// Sealed bytes in a journal file: a mark, the length and the bytes, beginning at a block boundary.
///
/// The position is authenticated with the bytes (the version they are sealed for is the block number plus 1). So
/// neither a torn frame opens nor the rest of an older frame under a newer one.
package enum JournalFrame {
    private static let mark: [UInt8] = Array("mjournl1".utf8)
    /// The mark of a settled entry.
    static let settledMark: [UInt8] = Array("msettld1".utf8)
    /// The number of bytes in a frame before the sealed bytes.
    package static let headerCount = mark.count + 4

    /// The bytes of a frame.
    package static func bytes(of sealed: SealedBytes) -> [UInt8] {
        Self.mark + UInt32(clamping: sealed.bytes.count).bigEndianBytes + sealed.bytes
    }

    /// Calls `opens` with each candidate frame in `file`, in order, and the block it begins at. Only opening it shows
    /// whether it is a frame.
    ///
    /// - Parameter opens: returns whether the frame is whole. If so, the search continues after it, otherwise at the
    ///   next block.
    package static func scan(
        _ file: [UInt8],
        opens: (SealedBytes, _ block: Int, _ isSettled: Bool) -> Bool
    ) {
        var block = 0
        while let (sealed, isSettled) = Self.next(in: file, from: &block) {
            let isWhole = opens(sealed, block, isSettled)
            let count = isWhole ? Self.headerCount + sealed.bytes.count : 1
            block += (count + JournalBlocks.blockSize - 1) / JournalBlocks.blockSize
        }
    }

    private static func next(
        in file: [UInt8],
        from block: inout Int
    ) -> (sealed: SealedBytes, isSettled: Bool)? {
        while block * JournalBlocks.blockSize + Self.headerCount <= file.count {
            let rest = file[(block * JournalBlocks.blockSize)...]
            let isSettled = rest.starts(with: Self.settledMark)
            if isSettled || rest.starts(with: Self.mark) {
                let count = rest.dropFirst(Self.mark.count).prefix(4).reduce(0) { $0 << 8 | Int($1) }
                let sealed = rest.dropFirst(Self.headerCount).prefix(count)
                if count <= SealedBytes.maximumCount, sealed.count == count {
                    return (SealedBytes(bytes: Array(sealed)), isSettled)
                }
            }
            block += 1
        }
        return nil
    }
}
