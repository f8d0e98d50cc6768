/// Pseudorandom numbers, the same for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// `bytes` with up to four mutations: a byte changed, removed or replaced by a syntax character, the rest cut off,
    /// or up to eight bytes doubled.
    mutating func mutation(of bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 0...4, using: &self) where !bytes.isEmpty {
            let index = Int.random(in: 0..<bytes.count, using: &self)
            switch Int.random(in: 0..<5, using: &self) {
            case 0: bytes[index] = UInt8.random(in: 0...255, using: &self)
            case 1: bytes[index] = Array("{}[]\",:\\%+&=.-0e".utf8)[Int.random(in: 0..<16, using: &self)]
            case 2: bytes.remove(at: index)
            case 3: bytes.removeSubrange(index...)
            default: bytes.insert(contentsOf: bytes[index...].prefix(8), at: index)
            }
        }
        return bytes
    }

    /// A field value: often `nil`, sometimes a valid date or number.
    mutating func text() -> String? {
        switch Int.random(in: 0..<5, using: &self) {
        case 0: "Sun, 06 Nov 1994 08:49:37 GMT"
        case 1: String(Int64.random(in: .min ... .max, using: &self))
        case 2:
            String(
                decoding: (0..<Int.random(in: 0...30, using: &self)).map { _ in UInt8.random(in: 0...255, using: &self)
                },
                as: UTF8.self
            )
        default: nil
        }
    }
}
