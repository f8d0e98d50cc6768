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

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun Nov 06 08:49:37 1994", "SUN, 06 nov 1994 08:49:37 gMT",
    ])
    func `the obsolete formats are read too, and letters of any case`(text: String) {
        #expect(HTTPDate.read(text) == WallTime(millisecondsSince1970: 784_111_777_000))
    }

    @Test(arguments: [
        ("Sunday, 06-Nov-69 08:49:37 GMT", 3_150_953_377), ("Sunday, 06-Nov-70 08:49:37 GMT", 26_729_377),
    ])
    func `a year of two digits is one from 1970 to 2069`(text: String, seconds: Int64) {
        #expect(HTTPDate.read(text) == WallTime(millisecondsSince1970: seconds * 1_000))
    }

    @Test(arguments: [
        "", "0", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 GMT x",
        "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT",
        "Sun, 06  Nov 1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, Nov-06 08:49:37 1994", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 29 Feb 1995 08:49:37 GMT",
        "S1n, 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Now 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 06 Nov 1994 08:49:37:1 GMT", "Sun, 06 Nov 1994 08::37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 0000 08:49:37 GMT", "Sun, 06 Nov 994 08:49:37 GMT",
        "Sun, 06 Nov 19945 08:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT", "Sun Nov  6 08:49:37 1994 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT                    ",
    ])
    func `anything else is no date`(text: String) { #expect(HTTPDate.read(text) == nil) }
}
