import OAuth
import TokenModel

extension Property {
    /// Every query has one reading, or none. In one that is read, each parameter that counts appears once, and is what an
    /// independent decoder finds there; no value has characters that could do harm where it goes next.
    ///
    /// The input is the query.
    package static let authorizationResponse = Property("AuthorizationResponse") { input in
        let query = String(decoding: input, as: UTF8.self)
        let response = try? AuthorizationResponse.read(query: query)
        try require((try? AuthorizationResponse.read(query: query)) == response, "two readings")
        try Self.checkAddress(with: query)
        guard let response else { return }

        let found = Self.parameters(Array(query.utf8))
        for name in ["state", "code", "iss", "error"] {
            try require(found.count { $0.name == Array(name.utf8) } <= 1, "\(name) appears twice")
        }
        func value(_ name: String) -> [UInt8]? { found.first { $0.name == Array(name.utf8) }?.value }
        try require(Secret(value("state") ?? []) == response.state && !response.state.isEmpty, "another state")
        try require(value("iss") == response.issuer.map { Array($0.utf8) }, "another issuer")
        switch response.result {
        case .code(let code):
            try require(Secret(value("code") ?? []) == code && !code.isEmpty, "another code")
            try require(value("error")?.isEmpty ?? true, "a code besides an error")
        case .error(let reason):
            try require(value("code")?.isEmpty ?? true, "an error besides a code")
            try require(reason == nil || reason?.rawValue == value("error")?.text, "another error")
        }
        for name in ["state", "code", "iss", "error"] {
            try require(value(name)?.allSatisfy { $0 >= 0x20 && $0 < 0x7F } ?? true, "an unprintable \(name)")
        }
    }

    /// The parameters of a query, decoded byte by byte. A `%` that is no escape stands for itself.
    private static func parameters(_ query: [UInt8]) -> [(name: [UInt8], value: [UInt8])] {
        var pairs: [(name: [UInt8], value: [UInt8])] = []
        var name: [UInt8]?
        var text: [UInt8] = []
        var index = 0
        func end() {
            if let name { pairs.append((name, text)) } else if !text.isEmpty { pairs.append((text, [])) }
        }
        while index < query.count {
            let byte = query[index]
            index += 1
            switch byte {
            case 0x26:
                end()
                (name, text) = (nil, [])
            case 0x3D where name == nil: (name, text) = (text, [])
            case 0x2B: text.append(0x20)
            case 0x25:
                let digits = Array(query.dropFirst(index).prefix(2))
                // `UInt8` would take a sign.
                if digits.count == 2, digits[0] != 0x2B, let escaped = UInt8(digits.text, radix: 16) {
                    text.append(escaped)
                    index += 2
                } else {
                    text.append(byte)
                }
            default: text.append(byte)
            }
        }
        end()
        return pairs
    }

    /// A pasted address gives back the query that it was made of, up to a fragment.
    private static func checkAddress(with query: String) throws {
        let address = " http://127.0.0.1/callback?\(query)"
        guard let parts = try? AuthorizationResponse.split(address: address) else { return }
        try require(parts.redirectURI == "http://127.0.0.1/callback", "another redirect URI")
        try require(!parts.query.isEmpty && query.utf8.starts(with: parts.query.utf8), "another query")
        try require(!parts.query.utf8.contains(UInt8(ascii: "#")), "a fragment")
    }
}
