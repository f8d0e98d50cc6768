/// A line as it is typed unseen, byte by byte: the terminal edits nothing and shows nothing.
package struct HiddenLine: Sendable {
    /// What a byte came to.
    package enum Step: Equatable, Sendable {
        case goesOn
        case ended
        /// The user gave up.
        case cancelled
        /// Nobody types that much.
        case tooLong
    }

    /// What has been typed so far.
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Takes what a key sent: characters, or a control character that edits or ends the line.
    package mutating func take(_ byte: UInt8) -> Step {
        switch byte {
        case 0x0A, 0x0D: return .ended
        case 0x03: return .cancelled
        case 0x04: return self.bytes.isEmpty ? .cancelled : .ended
        case 0x08, 0x7F: self.removeCharacter()
        case 0x15: self.bytes = []
        case 0x00..<0x20: break
        default:
            guard self.bytes.count < Self.longest else { return .tooLong }
            self.bytes.append(byte)
        }
        return .goesOn
    }

    /// With the bytes that continue it (UTF-8).
    private mutating func removeCharacter() {
        while let byte = self.bytes.popLast(), byte & 0xC0 == 0x80 {}
    }

    private static let longest = 1 << 20
}
