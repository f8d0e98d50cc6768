import Testing
import TextCoding

@Suite struct Base64Tests {
    // The test vectors of RFC 4648 §10, and bytes that the two alphabets write differently.
    private static let vectors = [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"), ("??>", "Pz8-"), ("???", "Pz8_"),
    ]

    @Test(arguments: vectors)
    func `the URL-safe alphabet is written and read without padding`(plain: String, encoded: String) {
        #expect(Base64.urlSafeText(plain.utf8) == encoded)
        #expect(Base64.encodeURLSafe(plain.utf8) == Array(encoded.utf8))
        #expect(Base64.decodeURLSafe(Array(encoded.utf8).span) == Array(plain.utf8))
    }

    @Test(arguments: vectors)
    func `the standard alphabet is written with padding and read with or without it`(plain: String, encoded: String) {
        let unpadded = encoded.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        let padded = String(unpadded) + String(repeating: "=", count: (4 - unpadded.count % 4) % 4)
        #expect(Base64.encode(Array(plain.utf8)) == Array(padded.utf8))
        #expect(Base64.decode(Array(padded.utf8).span) == Array(plain.utf8))
        #expect(Base64.decode(Array(String(unpadded).utf8).span) == Array(plain.utf8))
    }

    @Test(arguments: ["Z", "Zm9vY", "Zg==", "Zm 9", "Pz8+", "Pz8/", "Zm9é"])
    func `other text is no URL-safe Base64`(text: String) {
        #expect(Base64.decodeURLSafe(Array(text.utf8).span) == nil)
    }

    @Test(arguments: ["Z", "Zm9vY", "Z===", "Z=g=", "Pz8-", "Pz8_", "Zm\n9"])
    func `other text is no standard Base64`(text: String) {
        #expect(Base64.decode(Array(text.utf8).span) == nil)
    }
}
