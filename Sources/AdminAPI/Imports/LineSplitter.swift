/// Splits the bytes of a body, as they arrive, into numbered lines. Empty lines count, and are left out.
///
/// Of a line that is too long only its number is kept, so an endless line costs no memory.
package struct LineSplitter: Sendable {
    /// A line without its end.
    package struct Line: Equatable, Sendable {
        /// From 1.
        package let number: Int
        /// `nil` for a line that is too long.
        package let bytes: [UInt8]?

        package init(_ number: Int, _ bytes: [UInt8]?) {
            self.number = number
            self.bytes = bytes
        }
    }

    private let longest: Int
    private var number = 1
    private var pending: [UInt8] = []
    private var isTooLong = false

    /// - Parameter longest: the most bytes of a line, without its end.
    package init(longest: Int) {
        self.longest = longest
    }

    /// Takes the next bytes.
    ///
    /// - Returns: the lines that end in them.
    package mutating func take(_ bytes: some Collection<UInt8>) -> [Line] {
        var lines: [Line] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            self.append(rest[..<end])
            if let line = self.finishLine() { lines.append(line) }
            rest = rest[rest.index(after: end)...]
        }
        self.append(rest)
        return lines
    }

    /// The last line, if the body does not end with the end of one.
    package mutating func finish() -> Line? { self.finishLine() }

    private mutating func append(_ bytes: some Collection<UInt8>) {
        guard !self.isTooLong, self.pending.count + bytes.count <= self.longest else {
            self.isTooLong = true
            self.pending = []
            return
        }
        self.pending += bytes
    }

    /// - Returns: `nil` for a line of nothing but spaces, tabs and carriage returns.
    private mutating func finishLine() -> Line? {
        defer {
            self.number += 1
            self.pending = []
            self.isTooLong = false
        }
        if self.isTooLong { return Line(self.number, nil) }
        let isEmpty = self.pending.allSatisfy { [0x20, 0x09, 0x0D].contains($0) }
        return isEmpty ? nil : Line(self.number, self.pending)
    }
}
