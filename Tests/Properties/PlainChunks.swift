/// A complete chunked body (RFC 9112 §7.1), read in the simplest way. It stands for any other reader.
struct PlainChunks {
    private(set) var content: [UInt8] = []
    private(set) var extensionBytes = 0
    /// The extensions of each chunk, from the first `;` on.
    private(set) var extensions: [ArraySlice<UInt8>] = []
    /// The bytes after the body.
    private(set) var rest: ArraySlice<UInt8>

    /// Fails if the body is malformed or has no end.
    init?(_ input: [UInt8]) {
        self.rest = input[...]
        while true {
            guard let line = self.line() else { return nil }
            let digits = line.prefix { $0 != 0x3B }
            self.extensionBytes += line.count - digits.count
            if digits.count < line.count { self.extensions.append(line.dropFirst(digits.count)) }
            guard digits.allSatisfy(Self.isHexadecimal),
                let size = Int(String(decoding: digits, as: UTF8.self), radix: 16)
            else { return nil }
            if size == 0 { break }
            guard self.rest.count >= size else { return nil }
            self.content += self.rest.prefix(size)
            self.rest = self.rest.dropFirst(size)
            guard let end = self.line(), end.isEmpty else { return nil }
        }
        // The trailers end with an empty line.
        while true {
            guard let line = self.line() else { return nil }
            if line.isEmpty { return }
        }
    }

    /// Whether all extensions match `*( ";" name [ "=" ( token / quoted-string ) ] )`, with bad whitespace (BWS) in
    /// between but not at the end. This reads word by word, while the decoder reads byte by byte.
    var hasPlainExtensions: Bool { self.extensions.allSatisfy(Self.isExtensions) }

    private static func isExtensions(_ text: ArraySlice<UInt8>) -> Bool {
        var rest = text
        while !rest.isEmpty {
            guard rest.popFirst() == 0x3B else { return false }
            rest = Self.withoutSpace(rest)
            guard let name = Self.token(&rest), !name.isEmpty else { return false }
            var next = Self.withoutSpace(rest)
            if next.first == 0x3D {
                next = Self.withoutSpace(next.dropFirst())
                if next.first == 0x22 {
                    guard let end = Self.endOfQuoted(next) else { return false }
                    rest = next[end...]
                } else {
                    rest = next
                    guard let value = Self.token(&rest), !value.isEmpty else { return false }
                }
                next = Self.withoutSpace(rest)
            }
            // Space is allowed only before another extension.
            guard next.isEmpty == rest.isEmpty else { return false }
            rest = next
        }
        return true
    }

    private static func withoutSpace(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        text.drop { $0 == 0x20 || $0 == 0x09 }
    }

    private static func token(_ text: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let marks = Array("!#$%&'*+-.^_`|~".utf8)
        let token = text.prefix { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: marks.contains(byte)
            }
        }
        text = text[token.endIndex...]
        return token
    }

    /// The index after the closing quote; `nil` if there is no closing quote, or a control character before it.
    private static func endOfQuoted(_ text: ArraySlice<UInt8>) -> Int? {
        var position = text.startIndex + 1
        while position < text.endIndex {
            let byte = text[position]
            if byte == 0x22 { return position + 1 }
            if byte == 0x5C { position += 1 }
            guard position < text.endIndex, text[position] == 0x09 || text[position] >= 0x20, text[position] != 0x7F
            else { return nil }
            position += 1
        }
        return nil
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }

    /// Removes and returns the text up to the next CRLF, without the CRLF; `nil` if there is none.
    private mutating func line() -> ArraySlice<UInt8>? {
        var search = self.rest
        while let end = search.firstIndex(of: 0x0A) {
            if end > self.rest.startIndex, self.rest[end - 1] == 0x0D {
                let line = self.rest[..<(end - 1)]
                self.rest = self.rest[(end + 1)...]
                return line
            }
            search = search[(end + 1)...]
        }
        return nil
    }
}
