import MockServers
import Testing

@Suite struct Base64URLTests {
    // The test vectors of RFC 4648 §10, without padding.
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"), ("??>", "Pz8-"), ("???", "Pz8_"),
    ])
    func `bytes are encoded in the URL-safe alphabet`(plain: String, encoded: String) {
        #expect(Base64URL.encode(plain.utf8) == encoded)
    }
}
