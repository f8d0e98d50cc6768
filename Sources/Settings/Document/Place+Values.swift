internal import SystemSupport
internal import TokenModel

extension Place {
    /// Reads the secret in the file at `path`, which this value names.
    func secret(at path: String) throws(FileError) -> Secret {
        let secret = try self.reading.surroundings.readSecret(path)
        self.warnOfOwner(path)
        return secret
    }

    /// Warns if a file belongs to another user but is otherwise acceptable.
    func warnOfOwner(_ path: String) {
        if let concern = self.reading.surroundings.secretConcern(path) { self.warn("\(path) \(concern)") }
    }

    /// The text as written, without YAML's interpretation: `client_id: 0123` keeps its four digits.
    func text(_ kind: String = "text", allowingEmpty: Bool = false) -> String? {
        guard case .text(let text, _) = self.content else {
            self.expected(kind)
            return nil
        }
        guard allowingEmpty || !text.isEmpty else {
            self.fault("is empty")
            return nil
        }
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            self.fault("holds a line break or another control character")
            return nil
        }
        return text
    }

    /// The text, converted by `parse`.
    func parsed<Value>(_ kind: String = "text", by parse: (String) throws(ValueError) -> Value) -> Value? {
        guard let text = self.text(kind) else { return nil }
        do throws(ValueError) {
            return try parse(text)
        } catch {
            self.fault(error.message)
            return nil
        }
    }

    /// `true` or `false` without quotes.
    func flag() -> Bool? {
        switch self.content {
        case .text("true", isPlain: true): return true
        case .text("false", isPlain: true): return false
        default:
            self.expected("true or false")
            return nil
        }
    }

    /// A whole number in decimal digits.
    func count(in range: ClosedRange<Int>) -> Int? {
        guard case .text(let text, isPlain: true) = self.content, text.utf8.allSatisfy(\.isASCIIDigit) else {
            self.expected("a whole number")
            return nil
        }
        guard let count = Int(text), range.contains(count) else {
            self.fault("must be between \(range.lowerBound) and \(range.upperBound)")
            return nil
        }
        return count
    }

    /// A duration with its unit.
    func duration(in range: ClosedRange<Duration>) -> Duration? {
        guard let duration = self.parsed("a duration", by: Quantity.duration) else { return nil }
        guard range.contains(duration) else {
            self.fault("must be between \(Quantity.text(range.lowerBound)) and \(Quantity.text(range.upperBound))")
            return nil
        }
        return duration
    }

    /// A size with its unit, in bytes.
    func size(in range: ClosedRange<Int>) -> Int? {
        guard let size = self.parsed("a size", by: Quantity.size) else { return nil }
        guard range.contains(size) else {
            self.fault("must be between \(Quantity.text(range.lowerBound)) and \(Quantity.text(range.upperBound))")
            return nil
        }
        return size
    }

    /// One of the words of a vocabulary.
    func choice<Word: Vocabulary>(_ vocabulary: Word.Type) -> Word? {
        guard let text = self.text() else { return nil }
        if let word = Word(rawValue: text) { return word }
        if let meant = Suggestion.closest(to: text, among: Word.all) {
            self.fault("unknown value, did you mean \"\(meant)\"?")
        } else {
            self.fault("unknown value, there are \(Word.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return nil
    }

    /// The absolute path of a file. A relative path is based on `directory`.
    func file(under directory: String) -> String? {
        guard let text = self.text("a path") else { return nil }
        guard text != "~", !text.hasPrefix("~/") else {
            self.fault("~ is not expanded, write the whole path")
            return nil
        }
        return SettingsEnvironment.path(text, under: directory)
    }

    /// An http or https URL.
    func url() -> HTTPURL? { self.parsed("a URL") { text throws(ValueError) in try HTTPURL(text) } }

    /// A name in the form of ``ConfiguredName``.
    func name() -> String? {
        self.parsed { text throws(ValueError) in
            try ConfiguredName.check(text)
            return text
        }
    }
}
