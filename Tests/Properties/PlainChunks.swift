/// A whole chunked body as RFC 9112 §7.1 spells it, read in the plainest way: what any other reader makes of it.
struct PlainChunks {
    private(set) var content: [UInt8] = []
    private(set) var extensionBytes = 0
    /// What follows the body.
    private(set) var rest: ArraySlice<UInt8>

    /// `nil` where the body has no end.
    init?(_ input: [UInt8]) {
        self.rest = input[...]
        while true {
            guard let line = self.line() else { return nil }
            let digits = line.prefix { $0 != 0x3B }
            self.extensionBytes += line.count - digits.count
            guard digits.allSatisfy(Self.isHexadecimal),
                let size = Int(String(decoding: digits, as: UTF8.self), radix: 16)
            else { return nil }
            if size == 0 { break }
            guard self.rest.count >= size else { return nil }
            self.content += self.rest.prefix(size)
            self.rest = self.rest.dropFirst(size)
            guard let end = self.line(), end.isEmpty else { return nil }
        }
        // Trailers, up to the empty line.
        while true {
            guard let line = self.line() else { return nil }
            if line.isEmpty { return }
        }
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }

    /// Up to the next CRLF, which goes too; `nil` where there is none.
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
