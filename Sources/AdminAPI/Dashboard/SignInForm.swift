internal import TokenModel

/// What an operator sends to sign in: the one field `token` of a form (`application/x-www-form-urlencoded`).
struct SignInForm {
    let token: Secret

    /// More than any admin token.
    static let longest = 64 << 10

    init(_ body: [UInt8]) throws(AdminError) {
        let prefix = Array("token=".utf8)
        guard body.starts(with: prefix), let token = Self.decoded(body.dropFirst(prefix.count)), !token.isEmpty else {
            throw .invalidField("token", "the form has not the one field token")
        }
        // Tokens are often pasted with the end of their line.
        self.token = Secret(token.drop { $0 <= 0x20 }.reversed().drop { $0 <= 0x20 }.reversed())
    }

    /// - Returns: `nil` for what no browser makes of a text.
    private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "&"), UInt8(ascii: "="): return nil
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(Self.digit), let low = rest.popFirst().flatMap(Self.digit)
                else { return nil }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init)
    }
}
