internal import Yams

/// A YAML text as a tree of nodes with positions.
///
/// The YAML parser stops at the first duplicate key in a mapping, but we want all faults of a file at once. So the
/// first character of the earlier key is replaced in the text by a character that occurs nowhere else, which keeps all
/// positions. The original key is stored by its position, so that readers of the mapping see both keys.
struct YAMLDocument {
    /// `nil` if the text is empty.
    let root: Node?
    private let originals: [SourcePosition: String]

    /// The position and the reason if a text is not YAML.
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

    /// The scalar as it was in the original text.
    func text(of scalar: Node.Scalar) -> String {
        scalar.mark.flatMap { self.originals[SourcePosition($0)] } ?? scalar.string
    }

    private enum ComposeError: Error {
        case duplicate(key: String, SourcePosition)
        case syntax(SyntaxError)
    }

    private static func compose(_ text: String) throws(ComposeError) -> Node? {
        do {
            // Without resolver rules every plain scalar is text: `0123` and `yes` are kept as written.
            return try Yams.compose(yaml: text, .basic, .default, .utf8)
        } catch YamlError.duplicatedKeysInMapping(let keys, let context) {
            throw .duplicate(key: keys.first ?? "", SourcePosition(context.mark))
        } catch YamlError.composer(.some, _, let mark, _) {
            // Among the faults of a composition, only this one has a context.
            let message = "a second document begins here, the file must hold one"
            throw .syntax(SyntaxError(position: SourcePosition(mark), message: message))
        } catch YamlError.scanner(let context, let problem, let mark, _),
            YamlError.parser(let context, let problem, let mark, _),
            YamlError.composer(let context, let problem, let mark, _)
        {
            let place = context.map { "\($0.text) that begins at \($0.mark.line):\($0.mark.column), " } ?? ""
            throw .syntax(SyntaxError(position: SourcePosition(mark), message: "not YAML: \(place)\(problem)"))
        } catch {
            // The text's characters were checked above, so only a lack of memory can cause this.
            throw .syntax(SyntaxError(position: .start, message: "can't be read as YAML"))
        }
    }

    /// The index of the first character of `key`, whose scalar begins at `position`; `nil` if it can't be determined.
    private static func index(ofKey key: String, at position: SourcePosition, in text: MarkedText) -> Int? {
        guard let first = key.unicodeScalars.first, let index = text.index(of: position) else { return nil }
        let isQuoted = text.scalars[index] == "\"" || text.scalars[index] == "'"
        let begin = isQuoted ? index + 1 : index
        guard text.scalars.indices.contains(begin), text.scalars[begin] == first else { return nil }
        return begin
    }

    /// Characters that don't occur in the text, one for each key that may have to be renamed.
    private static func substitutes(for text: MarkedText) -> [Unicode.Scalar] {
        let used = Set(text.scalars)
        return (0xE000...0xE0FF).compactMap { Unicode.Scalar($0 as UInt32) }.filter { !used.contains($0) }
    }
}

extension SourcePosition {
    init(_ mark: Mark) { self.init(line: mark.line, column: mark.column) }
}

/// A text whose characters can be found by line and column, counted as in YAML (YAML 1.1 §4.2).
struct MarkedText {
    private(set) var scalars: [Unicode.Scalar]

    init(_ text: String) {
        self.scalars = Array(text.unicodeScalars)
        // A byte order mark is not part of the first line.
        if self.scalars.first == "\u{FEFF}" { self.scalars.removeFirst() }
    }

    var text: String {
        var text = ""
        text.unicodeScalars.append(contentsOf: self.scalars)
        return text
    }

    /// The position of the first character that YAML doesn't allow; `nil` if there is none.
    var firstForbidden: SourcePosition? {
        self.scalars.firstIndex { !Self.isAllowed($0) }.map { self.position(of: $0) }
    }

    /// The index of the character at `position`; `nil` if the position is outside the text.
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
