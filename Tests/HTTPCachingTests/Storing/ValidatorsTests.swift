import HTTPCaching
import Testing

@Suite struct ValidatorsTests {
    /// RFC 9111 §4.3.1: fields of a stored response, and what asks about it.
    static let rows: [([String], [String])] = [
        (["ETag: \"a\""], ["If-None-Match: \"a\""]),
        (["ETag: W/\"a,b\""], ["If-None-Match: W/\"a,b\""]),
        (["ETag: \"\""], ["If-None-Match: \"\""]),
        (["ETag: \"\u{E4}\""], ["If-None-Match: \"\u{E4}\""]),
        // Without quotes it breaks the syntax, but its upstream knows it.
        (["ETag: abc"], ["If-None-Match: abc"]),
        (["Last-Modified: \(Given.earlier)"], ["If-Modified-Since: \(Given.earlier)"]),
        (
            ["Last-Modified: Thursday, 26-Nov-26 07:59:00 GMT"],
            ["If-Modified-Since: Thursday, 26-Nov-26 07:59:00 GMT"]
        ),
        (
            ["Last-Modified: \(Given.earlier)", "ETag: \"a\""],
            ["If-None-Match: \"a\"", "If-Modified-Since: \(Given.earlier)"]
        ),
        ([], []),
        (["ETag: \"a"], []),
        (["ETag: a\""], []),
        (["ETag: \"a\"b\""], []),
        (["ETag: \"a b\""], []),
        (["ETag: w/\"a\""], []),
        (["ETag: W/"], ["If-None-Match: W/"]),
        (["ETag: a, b"], []),
        (["ETag: *"], []),
        (["ETag: \"a\"", "ETag: \"b\""], []),
        (["Last-Modified: yesterday"], []),
        (["Last-Modified: \(Given.earlier)", "Last-Modified: \(Given.date)"], []),
    ]

    @Test(arguments: rows)
    func `RFC 9111 §4.3.1: the upstream is asked by what it has sent, byte for byte`(
        fields: [String],
        lines: [String]
    ) throws {
        let validators = Validators(try Given.response("200 OK", fields))
        #expect(String(decoding: validators.lines(), as: UTF8.self) == lines.map { $0 + "\r\n" }.joined())
        #expect(validators.isEmpty == lines.isEmpty)
    }
}
