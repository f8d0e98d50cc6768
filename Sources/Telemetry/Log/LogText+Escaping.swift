/// Text from elsewhere in a line of the log.
extension [UInt8] {
    /// What is kept of one text, in bytes; a longer one ends in `…`.
    private static var longestText: Int { 8_192 }

    /// Appends `text` as a JSON string (RFC 8259 §7). Beyond what JSON asks for, no control, format or line-breaking
    /// character goes out as it is: a terminal obeys them, and some readers of lines end a line there.
    mutating func appendQuoted(_ text: String) {
        self.append(UInt8(ascii: "\""))
        let isPlain =
            text.utf8.count <= Self.longestText
            && text.utf8.allSatisfy { 0x20..<0x7F ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        if isPlain { self += text.utf8 } else { self.appendEscaped(text) }
        self.append(UInt8(ascii: "\""))
    }

    /// Appends `text` as it is where it can't be taken for anything else, or quoted.
    mutating func appendWord(_ text: String, allowingSpaces: Bool = false) {
        let isPlain =
            !text.isEmpty && text.utf8.count <= Self.longestText
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "="): false
                case UInt8(ascii: " "): allowingSpaces
                default: 0x21..<0x7F ~= byte
                }
            }
        if isPlain { self += text.utf8 } else { self.appendQuoted(text) }
    }

    private mutating func appendEscaped(_ text: String) {
        let start = self.count
        for scalar in text.unicodeScalars {
            guard self.count - start < Self.longestText else {
                self += "…".utf8
                return
            }
            switch scalar {
            case "\"", "\\":
                self.append(UInt8(ascii: "\\"))
                self.append(UInt8(truncatingIfNeeded: scalar.value))
            case "\n": self += "\\n".utf8
            case "\r": self += "\\r".utf8
            case "\t": self += "\\t".utf8
            default:
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
                    for unit in UTF16.encode(scalar) ?? .init([]) { self.appendUnit(unit) }
                default: self += UTF8.encode(scalar) ?? .init([])
                }
            }
        }
    }

    /// `\u` and four hexadecimal digits.
    private mutating func appendUnit(_ unit: UInt16) {
        let digits = String(unit, radix: 16)
        self += "\\u".utf8
        for _ in digits.utf8.count..<4 { self.append(UInt8(ascii: "0")) }
        self += digits.utf8
    }
}
