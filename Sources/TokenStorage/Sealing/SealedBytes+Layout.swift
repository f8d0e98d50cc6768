extension SealedBytes {
    /// The largest a sealed record may be: 64 KiB. Every store takes this much, and no more.
    package static let maximumCount = 65_536

    /// How many bytes sealing adds.
    package static let overhead = Layout.headerCount + Layout.tagCount

    /// What sealed bytes are made of, in this order: format, key id, salt, nonce, ciphertext, tag.
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

    /// Takes the parts apart.
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
