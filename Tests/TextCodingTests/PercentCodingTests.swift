import Testing
import TextCoding

@Suite struct PercentCodingTests {
    private static func decode(_ text: String, isForm: Bool = false) -> String? {
        PercentCoding.decode(Array(text.utf8).span, isForm: isForm).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `escapes in either case become bytes, and a plus is a space in forms only`() {
        #expect(Self.decode("a%2Fb%2fc%C3%A9+") == "a/b/cé+")
        #expect(Self.decode("a+b%2B", isForm: true) == "a b+")
        #expect(Self.decode("") == "")
    }

    @Test(arguments: ["%", "a%4", "%4g", "%g4", "%%41", "%+1"])
    func `a percent sign without two hexadecimal digits is malformed`(text: String) {
        #expect(Self.decode(text) == nil)
        #expect(Self.decode(text, isForm: true) == nil)
    }

    @Test func `only unreserved characters of a query are left as they are`() {
        #expect(PercentCoding.encode("/ é&~*") == "%2F%20%C3%A9%26~%2A")
        let text = "a b&c=d?é/%+~-._z"
        #expect(Self.decode(PercentCoding.encode(text), isForm: true) == text)
    }

    @Test func `a form has a plus for a space and keeps the asterisk`() {
        var encoded: [UInt8] = []
        for byte in "a b*~\u{7F}".utf8 { PercentCoding.appendToForm(byte, into: &encoded) }
        #expect(String(decoding: encoded, as: UTF8.self) == "a+b*%7E%7F")
    }
}
