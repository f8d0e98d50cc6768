internal import Crypto
internal import FoundationEssentials
package import TokenModel

/// A 256-bit key that records are sealed under, and its id.
package struct SealingKey: Equatable, Sendable {
    /// The number of bytes in a key.
    package static let byteCount = 32

    /// The id of the key. It is derived from the key, so a key file need not store it.
    package let id: ID

    private let material: Secret

    /// - Returns: `nil` unless `material` has ``byteCount`` bytes.
    package init?(_ material: Secret) {
        guard material.count == Self.byteCount else { return nil }
        self.material = material
        self.id = ID(of: material)
    }

    private init(drawn material: Secret) {
        self.material = material
        self.id = ID(of: material)
    }

    /// Draws a new key from the system's random source.
    package static func random() -> SealingKey {
        let drawn = SymmetricKey(size: .bits256)
        return SealingKey(drawn: unsafe drawn.withUnsafeBytes { bytes in unsafe Secret(bytes) })
    }

    /// The key for one record, derived from this key and `salt` (HKDF with SHA-256, RFC 5869). Each write derives a new
    /// one, so no number of writes approaches the limits of a single AES-GCM key (NIST SP 800-38D §8.3).
    func recordKey(salt: [UInt8]) -> SymmetricKey {
        Self.derive(from: self.material, salt: salt, purpose: "martlet sealed record 1", byteCount: 32)
    }

    /// Access to the bytes of the key, for writing a key file.
    func withUnredacted<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try self.material.withUnredacted(body)
    }

    private static func derive(from material: Secret, salt: [UInt8], purpose: String, byteCount: Int) -> SymmetricKey {
        let input = material.withUnredacted { span in
            unsafe span.withUnsafeBytes { bytes in unsafe SymmetricKey(data: bytes) }
        }
        return HKDF<SHA256>.deriveKey(
            inputKeyMaterial: input,
            salt: salt,
            info: Array(purpose.utf8),
            outputByteCount: byteCount
        )
    }
}

extension SealingKey {
    /// A 64-bit id that distinguishes keys and reveals nothing about them. Its text is hexadecimal.
    package struct ID: Hashable, Sendable, CustomStringConvertible {
        package static let byteCount = 8

        let bytes: [UInt8]

        /// - Precondition: none. An id of a wrong length equals the id of no key.
        init(bytes: [UInt8]) { self.bytes = bytes }

        init(of material: Secret) {
            let derived = SealingKey.derive(
                from: material,
                salt: [],
                purpose: "martlet sealing key id 1",
                byteCount: Self.byteCount
            )
            self.bytes = unsafe derived.withUnsafeBytes { unsafe Array($0) }
        }

        package var description: String {
            self.bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
        }
    }
}
