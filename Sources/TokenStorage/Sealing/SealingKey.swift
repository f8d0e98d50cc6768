internal import Crypto
internal import FoundationEssentials
package import TokenModel

/// 256 bits that stored records are sealed under, and the name that sealed records know them by.
package struct SealingKey: Equatable, Sendable {
    /// How many bytes a key has.
    package static let byteCount = 32

    /// Derived from the key, so that a file of keys has nothing to keep in step.
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

    /// The key for one record: derived anew for each write from this one and `salt` (HKDF with SHA-256, RFC 5869), so
    /// that no number of writes comes near the limits of a single AES-GCM key (NIST SP 800-38D §8.3).
    func recordKey(salt: [UInt8]) -> SymmetricKey {
        Self.derive(from: self.material, salt: salt, purpose: "martlet sealed record 1", byteCount: 32)
    }

    /// The bytes themselves, for writing a key file.
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
    /// 64 bits that tell keys apart and say nothing about them; shown as hexadecimal digits.
    package struct ID: Hashable, Sendable, CustomStringConvertible {
        package static let byteCount = 8

        let bytes: [UInt8]

        /// - Precondition: none; an id of a wrong length equals no key's.
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
