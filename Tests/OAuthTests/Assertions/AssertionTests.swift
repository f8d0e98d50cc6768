import Foundation
import OAuth
import Testing
import TokenModel

@Suite struct AssertionTests {
    private static let assertion = Assertion(
        issuer: "my-app",
        subject: "my-app",
        audience: "https://login.acme.example/token",
        issuedAt: WallTime(millisecondsSince1970: 1_795_089_600_999),
        id: "j-1"
    )

    /// The JSON of both parts of a signing input.
    private func parts(_ input: [UInt8]) throws -> [String] {
        try String(decoding: input, as: UTF8.self).split(separator: ".").map { part in
            #expect(!part.contains { "+/=".contains($0) })
            let base64 = String(part).replacing("-", with: "+").replacing("_", with: "/")
            let padded = base64 + String(repeating: "=", count: (4 - base64.count % 4) % 4)
            return String(decoding: try #require(Data(base64Encoded: padded)), as: UTF8.self)
        }
    }

    @Test func `header and claims follow RFC 7523, and the assertion lives for a minute`() throws {
        let parts = try self.parts(Self.assertion.signingInput(algorithm: .es256, keyID: "k1"))
        #expect(
            parts == [
                #"{"alg":"ES256","kid":"k1","typ":"JWT"}"#,
                #"{"iss":"my-app","sub":"my-app","aud":"https://login.acme.example/token","#
                    + #""iat":1795089600,"exp":1795089660,"jti":"j-1"}"#,
            ]
        )
    }

    @Test func `missing values are left out, and scopes become one claim`() throws {
        var assertion = Self.assertion
        assertion.subject = nil
        assertion.scopes = ["read", "write"]
        let parts = try self.parts(assertion.signingInput(algorithm: .rs256, keyID: nil))
        #expect(parts.first == #"{"alg":"RS256","typ":"JWT"}"#)
        #expect(parts.last?.contains(#""scope":"read write""#) == true)
        #expect(parts.last?.contains("sub") == false)
    }

    @Test(arguments: ["a\"b", "a\\b", "\u{1}\n\u{1F}", "é€😀", "</script>"])
    func `any identifier survives JSON encoding`(name: String) throws {
        var assertion = Self.assertion
        assertion.issuer = name
        let parts = try self.parts(assertion.signingInput(algorithm: .es256, keyID: name))
        let header = try JSONSerialization.jsonObject(with: Data(parts[0].utf8)) as? [String: Any]
        let claims = try JSONSerialization.jsonObject(with: Data(parts[1].utf8)) as? [String: Any]
        #expect(header?["kid"] as? String == name)
        #expect(claims?["iss"] as? String == name)
    }

    @Test func `no two ids are the same`() {
        let ids = Set((0..<1_000).map { _ in Assertion.newID() })
        #expect(ids.count == 1_000)
        #expect(ids.allSatisfy { $0.utf8.count == 22 })
    }
}
