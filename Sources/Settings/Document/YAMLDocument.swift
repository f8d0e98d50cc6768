internal import Yams

/// A YAML text as a tree of nodes with positions.
///
/// The parser underneath gives up at the first key that a mapping has twice, and we want all faults of a file at once.
/// So the earlier of the two is renamed in the text, one character against another that occurs nowhere else, which moves
/// nothing; what it was called is kept by its position, and whoever reads the mapping meets both keys.
struct YAMLDocument {
    /// `nil` where the text has no content.
    let root: Node?
    private let originals: [SourcePosition: String]

    /// A text that is not YAML: where, and why.
    struct SyntaxError: Error {
        let position: SourcePosition
        let message: String
    }

    init(_ source: String) throws(SyntaxError) {
        var text = MarkedText(source)
        if let position = text.firstForbidden {
            throw SyntaxError(position: position, message: "a character that YAML does not allow")
        }
        var originals: [SourcePosition: String] = [:]
        var substitutes = Self.substitutes(for: text)
        while true {
            do throws(ComposeError) {
                self.root = try Self.compose(text.text)
                self.originals = originals
                return
            } catch {
                switch error {
                case .syntax(let fault): throw fault
                case .duplicate(let key, let position):
                    guard let index = Self.index(ofKey: key, at: position, in: text), let other = substitutes.popLast()
                    else {
                        throw SyntaxError(position: position, message: "a key is given twice in one mapping")
                    }
                    originals[position] = key
                    text.replace(at: index, with: other)
                }
            }
        }
    }

    /// What the scalar is in the text as it was given.
    func text(of scalar: Node.Scalar) -> String {
        scalar.mark.flatMap { self.originals[SourcePosition($0)] } ?? scalar.string
    }

    private enum ComposeError: Error {
        case duplicate(key: String, SourcePosition)
        case syntax(SyntaxError)
    }

    private static func compose(_ text: String) throws(ComposeError) -> Node? {
        do {
            // Without rules every plain scalar is text: `0123` and `yes` mean what they say.
            return try Yams.compose(yaml: text, .basic, .default, .utf8)
        } catch YamlError.duplicatedKeysInMapping(let keys, let context) {
            throw .duplicate(key: keys.first ?? "", SourcePosition(context.mark))
        } catch YamlError.composer(.some, _, let mark, _) {
            // The only fault of a composition that has a context.
            let message = "a second document begins here, the file must hold one"
            throw .syntax(SyntaxError(position: SourcePosition(mark), message: message))
        } catch YamlError.scanner(let context, let problem, let mark, _),
            YamlError.parser(let context, let problem, let mark, _),
            YamlError.composer(let context, let problem, let mark, _)
        {
            let place = context.map { "\($0.text) that begins at \($0.mark.line):\($0.mark.column), " } ?? ""
            throw .syntax(SyntaxError(position: SourcePosition(mark), message: "not YAML: \(place)\(problem)"))
        } catch {
            // The text's characters were checked above, so that this is memory running out.
            throw .syntax(SyntaxError(position: .start, message: "can't be read as YAML"))
        }
    }

    /// The index of a character of `key`, whose scalar begins at `position`; `nil` where it can't be told.
    private static func index(ofKey key: String, at position: SourcePosition, in text: MarkedText) -> Int? {
        guard let first = key.unicodeScalars.first, let index = text.index(of: position) else { return nil }
        let isQuoted = text.scalars[index] == "\"" || text.scalars[index] == "'"
        let begin = isQuoted ? index + 1 : index
        guard text.scalars.indices.contains(begin), text.scalars[begin] == first else { return nil }
        return begin
    }

    /// Characters that do not occur in the text, one for each key that may have to be renamed.
    private static func substitutes(for text: MarkedText) -> [Unicode.Scalar] {
        let used = Set(text.scalars)
        return (0xE000...0xE0FF).compactMap { Unicode.Scalar($0 as UInt32) }.filter { !used.contains($0) }
    }
}

extension SourcePosition {
    init(_ mark: Mark) { self.init(line: mark.line, column: mark.column) }
}

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
