internal import TokenModel
internal import TokenStorage

/// The keys of Martlet's records in a database, and what is in them.
///
/// `<prefix>records` is a hash: its fields are the keys of the records, its values the versions (eight bytes, the most
/// significant first) with the sealed bytes behind them. `<prefix>keys` is a sorted set with the keys again, all with
/// score 0, so that it sorts them by their bytes.
///
/// The hash has one more field, the mark: the version of this layout, and an id that was drawn when the hash was made.
/// Each call compares it. A server may come back without its records, after `FLUSHALL` or without a file to load, and what
/// it says then must not be taken for "no such record".
struct Layout: Sendable {
    private static let version = 1
    /// The field of the mark. UTF-8 has no such byte, so it is the key of no record.
    static let markField: [UInt8] = [0xFF]

    let records: String
    let keys: String
    /// The channel on which changes are published.
    let channel: String

    init(prefix: String) {
        self.records = "\(prefix)records"
        self.keys = "\(prefix)keys"
        self.channel = "\(prefix)changes"
    }

    /// A mark of a new set of records.
    static func newMark() -> [UInt8] {
        let id = (0..<4).map { _ in String(UInt32.random(in: .min ... .max), radix: 16) }
        return Array("martlet \(Self.version) \(id.joined(separator: "-"))".utf8)
    }

    /// - Throws: ``SessionError`` if the mark is not one that this Martlet knows.
    static func check(mark: [UInt8]) throws(SessionError) {
        let words = String(decoding: mark, as: UTF8.self).split(separator: " ")
        guard words.count == 3, words[0] == "martlet", let version = Int(words[1]) else { throw .otherProgram }
        guard version == Self.version else {
            throw SessionError(
                "its records have a layout of version \(version), and this Martlet knows version \(Self.version); "
                    + "use a later Martlet",
                .records
            )
        }
    }

    /// The hash's value for a record.
    static func value(_ bytes: SealedBytes, as version: Version) -> [UInt8] {
        version.rawValue.bigEndianBytes + bytes.bytes
    }

    // MARK: - Hints

    /// A hint about a change: the mark of the records, who made it, the version or zeros, and the key.
    static func hint(of change: RecordChange, by sender: UInt64, mark: [UInt8]) -> [UInt8] {
        mark + sender.bigEndianBytes + (change.version?.rawValue ?? 0).bigEndianBytes + Array(change.key.rawValue.utf8)
    }

    /// `nil` for anything else: others may publish too.
    static func change(in hint: [UInt8], mark: [UInt8]) -> (change: RecordChange, sender: UInt64)? {
        let hint = hint.starts(with: mark) ? hint.dropFirst(mark.count) : []
        guard let sender = UInt64(bigEndian: hint.prefix(8)),
            let version = UInt64(bigEndian: hint.dropFirst(8).prefix(8)),
            let key = String(validating: hint.dropFirst(16), as: UTF8.self)
        else { return nil }
        return (RecordChange(key: RecordKey(rawValue: key), version: version == 0 ? nil : Version(version)), sender)
    }
}

extension StoredRecord {
    /// The record in a value of the hash; `nil` if it is too short for one.
    init?(_ value: [UInt8]) {
        guard let version = UInt64(bigEndian: value.prefix(8)) else { return nil }
        self.init(version: Version(version), value: SealedBytes(bytes: Array(value.dropFirst(8))))
    }
}

extension UInt64 {
    /// - Returns: `nil` for anything but eight bytes.
    fileprivate init?(bigEndian bytes: ArraySlice<UInt8>) {
        guard bytes.count == 8 else { return nil }
        self = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension SessionError {
    static let otherProgram = SessionError(
        "its keys of this prefix belong to another program; set another store.prefix or database",
        .records
    )
    static let noRecords = SessionError(
        "the database has no records of Martlet yet; they are made when a gateway first starts",
        .records
    )
    /// It passes only by a restart, and is an outage all the same: what is there now is not what was opened.
    static let lostRecords = SessionError(
        "the server has lost Martlet's records, or has others in their place; restart this gateway to use what is there"
    )
}
