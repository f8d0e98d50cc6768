internal import AdminAPI
internal import Testing

@Suite struct LineSplitterTests {
    /// Splits `text`, handed over in pieces of `size` bytes.
    private static func lines(_ text: String, longest: Int = 8, in size: Int) -> [LineSplitter.Line] {
        var splitter = LineSplitter(longest: longest)
        let bytes = Array(text.utf8)
        var lines: [LineSplitter.Line] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            lines += splitter.take(bytes[start..<min(start + size, bytes.count)])
        }
        if let last = splitter.finish() { lines.append(last) }
        return lines
    }

    private static func line(_ number: Int, _ text: String?) -> LineSplitter.Line {
        LineSplitter.Line(number, text.map { Array($0.utf8) })
    }

    @Test(
        arguments: [
            ("", []), ("\n\n", []), ("a", [line(1, "a")]), ("a\n", [line(1, "a")]),
            ("a\nb", [line(1, "a"), line(2, "b")]),
            ("\n \t\r\na\r\n", [line(3, "a\r")]),
            ("12345678\n123456789\n1234567", [line(1, "12345678"), line(2, nil), line(3, "1234567")]),
            ("123456789", [line(1, nil)]), ("123456789012345678901234567890\na\n", [line(1, nil), line(2, "a")]),
        ] as [(String, [LineSplitter.Line])]
    )
    func `given a text in pieces of any size, its lines have their numbers, and long and empty ones no bytes`(
        text: String,
        lines: [LineSplitter.Line]
    ) {
        for size in [1, 2, 3, 7, 100] { #expect(Self.lines(text, in: size) == lines, "\(size)") }
    }
}
