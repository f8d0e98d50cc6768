import MockServers
import Testing

@Suite struct Base64URLTests {
    // RFC 4648 section 10, without the padding.
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"), ("??>", "Pz8-"), ("???", "Pz8_"),
    ])
    func `bytes become the alphabet of URLs`(plain: String, encoded: String) {
        #expect(Base64URL.encode(plain.utf8) == encoded)
    }
}
