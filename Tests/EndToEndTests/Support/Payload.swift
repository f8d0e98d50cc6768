import Crypto

/// Pseudorandom bytes and their digest.
struct Payload {
    let bytes: [UInt8]

    init(size: Int) {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        self.bytes = (0..<size).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 33)
        }
    }

    /// The SHA-256 digest in hexadecimal.
    var sha256: String {
        SHA256.hash(data: self.bytes).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0\(digits)" : digits
        }.joined()
    }
}
