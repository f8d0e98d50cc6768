/// A text whose positions can be found again by line and column, counted as YAML counts (YAML 1.1 §4.2).
struct MarkedText {
    private(set) var scalars: [Unicode.Scalar]

    init(_ text: String) {
        self.scalars = Array(text.unicodeScalars)
        // A byte order mark is no part of the first line.
        if self.scalars.first == "\u{FEFF}" { self.scalars.removeFirst() }
    }

    var text: String {
        var text = ""
        text.unicodeScalars.append(contentsOf: self.scalars)
        return text
    }

    /// Where the first character stands that a YAML text must not contain, if there is one.
    var firstForbidden: SourcePosition? {
        self.scalars.firstIndex { !Self.isAllowed($0) }.map { self.position(of: $0) }
    }

    /// The index of what stands at `position`; `nil` where the text has no such place.
    func index(of position: SourcePosition) -> Int? {
        var line = 1
        var start = self.scalars.startIndex
        while line < position.line {
            guard let end = self.scalars[start...].firstIndex(where: Self.isBreak) else { return nil }
            start = self.afterBreak(at: end)
            line += 1
        }
        let index = start + position.column - 1
        return self.scalars.indices.contains(index) ? index : nil
    }

    func position(of index: Int) -> SourcePosition {
        var line = 1
        var start = self.scalars.startIndex
        while let end = self.scalars[start..<index].firstIndex(where: Self.isBreak), self.afterBreak(at: end) <= index {
            start = self.afterBreak(at: end)
            line += 1
        }
        return SourcePosition(line: line, column: index - start + 1)
    }

    mutating func replace(at index: Int, with scalar: Unicode.Scalar) { self.scalars[index] = scalar }

    mutating func append(_ scalar: Unicode.Scalar) { self.scalars.append(scalar) }

    private func afterBreak(at index: Int) -> Int {
        let isPair = self.scalars[index] == "\r" && self.scalars.dropFirst(index + 1).first == "\n"
        return index + (isPair ? 2 : 1)
    }

    private static func isBreak(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}": true
        default: false
        }
    }

    /// `c-printable` (YAML 1.1 §4.1.1).
    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A, 0x0D, 0x20...0x7E, 0x85, 0xA0...0xD7FF, 0xE000...0xFEFE, 0xFF00...0xFFFD, 0x1_0000...0x10_FFFF:
            true
        default: false
        }
    }
}
