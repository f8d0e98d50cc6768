import Testing
import TokenModel

@Suite struct SecretTests {
    @Test func `every conversion to text hides the secret`() {
        let secret = Secret("canary-7d1f")
        var dumped = ""
        dump(secret, to: &dumped)

        for text in ["\(secret)", String(reflecting: secret), String(describing: [secret]), dumped] {
            #expect(!text.contains("canary"))
        }
    }

    @Test func `the bytes are available through the explicit accessor`() {
        let bytes = Secret("abc").withUnredacted { span in
            span.indices.map { span[$0] }
        }
        #expect(bytes == [0x61, 0x62, 0x63])
    }

    @Test(arguments: [("abc", "abc", true), ("abc", "abd", false), ("abc", "abcd", false), ("", "", true)])
    func `two secrets are equal if their bytes are equal`(left: String, right: String, equal: Bool) {
        #expect((Secret(left) == Secret(right)) == equal)
    }
}
