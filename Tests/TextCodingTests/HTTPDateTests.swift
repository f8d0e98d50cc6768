import Testing
import TextCoding
import TokenModel

@Suite struct HTTPDateTests {
    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
        (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
        (1_763_683_200, "Fri, 21 Nov 2025 00:00:00 GMT"),
        (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
    ])
    func `a time is formatted as in RFC 9110, and read again`(seconds: Int64, text: String) {
        #expect(HTTPDate.text(of: WallTime(millisecondsSince1970: seconds * 1_000 + 999)) == text)
        #expect(HTTPDate.read(text) == WallTime(millisecondsSince1970: seconds * 1_000))
    }
}
