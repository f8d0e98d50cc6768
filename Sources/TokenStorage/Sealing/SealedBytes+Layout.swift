package import TokenModel

extension SealedBytes {
    /// The largest size of a sealed record: 64 KiB. Every store accepts this size and rejects any larger one.
    package static let maximumCount = 65_536

    /// The number of bytes that sealing adds.
    package static let overhead = Layout.headerCount + Layout.tagCount

    /// The parts of sealed bytes, in this order: format, key id, salt, nonce, ciphertext, tag.
    struct Layout: Equatable {
        static let format: UInt8 = 1
        static let saltCount = 32
        static let nonceCount = 12
        static let tagCount = 16
        static let headerCount = 1 + SealingKey.ID.byteCount + saltCount + nonceCount

        var keyID: SealingKey.ID
        var salt: [UInt8]
        var nonce: [UInt8]
        var ciphertext: [UInt8]
        var tag: [UInt8]
    }

    init(_ layout: Layout) {
        self.init(
            bytes: [Layout.format] + layout.keyID.bytes + layout.salt + layout.nonce + layout.ciphertext + layout.tag
        )
    }

    /// Splits the bytes into their parts.
    func layout() throws(StoreError) -> Layout {
        guard let format = self.bytes.first else {
            throw StoreError(.unreadable, "the sealed record is empty")
        }
        guard format == Layout.format else {
            throw StoreError(
                .unreadable,
                "the sealed record has format \(format), and this Martlet knows format \(Layout.format): "
                    + "it was written by a newer one, or damaged"
            )
        }
        guard self.bytes.count >= Self.overhead, self.bytes.count <= Self.maximumCount else {
            throw StoreError(.unreadable, "the sealed record has \(self.bytes.count) bytes: it is cut short or damaged")
        }
        var rest = self.bytes[1...]
        func take(_ count: Int) -> [UInt8] {
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        return Layout(
            keyID: SealingKey.ID(bytes: take(SealingKey.ID.byteCount)),
            salt: take(Layout.saltCount),
            nonce: take(Layout.nonceCount),
            ciphertext: take(rest.count - Layout.tagCount),
            tag: take(Layout.tagCount)
        )
    }
}

/// The store, key and version that a record is sealed for. They are authenticated with the record but not stored in it.
/// So a row that was copied to another account, another store or a later version does not open.
package struct SealingContext: Hashable, Sendable {
    package var store: StoreID
    package var key: RecordKey
    package var version: Version

    package init(store: StoreID, key: RecordKey, version: Version) {
        self.store = store
        self.key = key
        self.version = version
    }

    /// The three fields, each after its length, so that no two contexts have the same bytes.
    var associatedData: [UInt8] {
        var bytes: [UInt8] = []
        for field in [
            Array(self.store.rawValue.utf8), Array(self.key.rawValue.utf8), self.version.rawValue.bigEndianBytes,
        ] {
            bytes += UInt32(truncatingIfNeeded: field.count).bigEndianBytes
            bytes += field
        }
        return bytes
    }
}

extension FixedWidthInteger {
    /// Most significant byte first.
    package var bigEndianBytes: [UInt8] {
        (0..<Self.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) }
    }
}
