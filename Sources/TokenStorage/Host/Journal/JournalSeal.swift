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

/// What stands in a journal's file.
package struct JournalContents: Equatable, Sendable {
    /// What opened, in the order in which it stands.
    package internal(set) var entries: [JournalEntry] = []
    /// Those that the store had acknowledged: it is owed them only if it has lost them since.
    package internal(set) var settled: [JournalEntry] = []
    /// How many say that they are sealed under which key, whether they open or not.
    package internal(set) var byKey: [SealingKey.ID: Int] = [:]
    /// The same of those whose key is not known: it may come back, so they must not go.
    package internal(set) var locked: [SealingKey.ID: Int] = [:]
    /// How many are of a form that this version does not know: a newer one wrote them.
    package internal(set) var foreign = 0
    /// Those of them that don't even show which key they are sealed under: it may be any.
    package internal(set) var keyless = 0

    package init() {}

    /// How many may be new tokens, and can't be read here.
    package var unopened: Int { self.locked.values.reduce(self.foreign, +) }
}

/// A success that a store would not take: the account, and the record that it is to have.
package struct JournalEntry: Equatable, Sendable {
    package let account: AccountID
    package let record: AccountRecord

    package init(account: AccountID, record: AccountRecord) {
        self.account = account
        self.record = record
    }

    private static let format: UInt8 = 1

    /// As bytes to seal.
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

    /// Whether the store is still owed this: what stands there is the same grant, and no token set as late as this one. It
    /// may be claimed, declared dead or adopted for another client since: all less than tokens in hand.
    ///
    /// - Parameter stored: `nil` where nothing stands: records are never removed, so the store has lost it.
    package func isOwed(to stored: AccountRecord?) -> Bool {
        guard let stored else { return true }
        return stored.grant == self.record.grant && stored.generation < self.record.generation
    }
}

/// Something sealed as it stands in a journal's file: a mark, the length and the sealed bytes, from the beginning of a
/// block on.
///
/// Where it stands is authenticated with it (the block is the version it is sealed for), so that of a torn frame, and of
/// what is left of an older one beneath a newer one, nothing opens.
package enum JournalFrame {
    private static let mark: [UInt8] = Array("mjournl1".utf8)
    /// In place of the mark once the store has acknowledged the entry.
    static let settledMark: [UInt8] = Array("msettld1".utf8)
    /// How many bytes a frame has beside what is sealed.
    package static let headerCount = mark.count + 4

    /// The bytes of a frame.
    package static func bytes(of sealed: SealedBytes) -> [UInt8] {
        Self.mark + UInt32(clamping: sealed.bytes.count).bigEndianBytes + sealed.bytes
    }

    /// What may be a frame in `file`, in order, and the block that each begins at. Whether it is one shows when it is opened.
    ///
    /// - Parameter opens: whether what begins at a block is whole; then the search goes on behind it, else in the next block.
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
