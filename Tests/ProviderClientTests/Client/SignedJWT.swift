import Foundation
import Testing

/// A parsed JWT. The parser is independent of the code that signs JWTs.
struct SignedJWT {
    let header: [String: Any]
    let claims: [String: Any]
    let signingInput: Data
    let signature: Data

    init(_ text: String) throws {
        let parts = text.split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        self.signingInput = Data("\(parts[0]).\(parts[1])".utf8)
        self.signature = try Self.decode(parts[2])
        self.header = try Self.object(parts[0])
        self.claims = try Self.object(parts[1])
    }

    private static func object(_ part: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Self.decode(part)) as? [String: Any])
    }

    private static func decode(_ part: String) throws -> Data {
        let base64 = part.replacing("-", with: "+").replacing("_", with: "/")
        let padded = base64 + String(repeating: "=", count: (4 - base64.count % 4) % 4)
        return try #require(Data(base64Encoded: padded))
    }
}

/// The value of a field in a form.
func field(_ name: String, of form: String) -> String? {
    for pair in form.split(separator: "&") where pair.hasPrefix("\(name)=") {
        return String(pair.dropFirst(name.count + 1)).removingPercentEncoding
    }
    return nil
}
