package import TokenModel

/// A record as a store holds it: which write it is, and bytes that only a key ring can open.
package struct StoredRecord: Equatable, Sendable {
    package let version: Version
    package let value: SealedBytes

    package init(version: Version, value: SealedBytes) {
        self.version = version
        self.value = value
    }
}

/// Ciphertext with what is needed to open it. Made and opened by a key ring only.
package struct SealedBytes: Hashable, Sendable {
    package let bytes: [UInt8]
    package init(bytes: [UInt8]) { self.bytes = bytes }
}

extension SealedBytes: CustomStringConvertible {
    package var description: String { "\(self.bytes.count) sealed bytes" }
}
