/// A line that is typed without echo. It is read byte by byte, because the terminal neither edits nor shows it.
package struct HiddenLine: Sendable {
    /// The result of one byte.
    package enum Step: Equatable, Sendable {
        case goesOn
        case ended
        /// The user canceled.
        case cancelled
        /// Too long to have been typed.
        case tooLong
    }

    /// The bytes typed so far.
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Takes a byte from the keyboard: part of a character, or a control character that edits or ends the line.
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

    /// Removes the last character, including its UTF-8 continuation bytes.
    private mutating func removeCharacter() {
        while let byte = self.bytes.popLast(), byte & 0xC0 == 0x80 {}
    }

    private static let longest = 1 << 20
}
