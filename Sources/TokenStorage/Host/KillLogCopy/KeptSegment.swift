internal import TokenModel

/// A few hundred entries in one file. The last one is put in its place anew with each entry that comes; those before it
/// are full, and never touched again.
struct KeptSegment: Equatable, Sendable {
    /// How many entries a segment has at most.
    static let capacity = 256
    /// With how many bytes of entries nothing is added. One entry is at most a record's 64 KiB.
    private static let fullSize = 2 << 20
    /// No segment's file is larger, in bytes.
    static let sizeLimit = 4 << 20

    var entries: [KeptEntry] = []

    var isFull: Bool {
        self.entries.count >= Self.capacity || self.entries.reduce(0) { $0 + $1.bytes.count } >= Self.fullSize
    }

    private static let format: UInt8 = 1

    func encoded() -> Secret {
        let writer = FieldWriter(format: Self.format)
        writer.write(self.entries) { entry in
            writer.write(entry.number)
            writer.write(entry.id)
            writer.write(entry.bytes)
        }
        return writer.finish()
    }

    init(entries: [KeptEntry] = []) { self.entries = entries }

    /// - Throws: ``StoreError/Code/unreadable`` for bytes that ``encoded()`` did not write.
    init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: Self.format...Self.format)
        self.entries = try reader.readArray { reader throws(StoreError) in
            KeptEntry(number: try reader.read(), id: try reader.read(), bytes: try reader.read())
        }
        try reader.finish()
    }
}
