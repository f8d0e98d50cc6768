internal import Yams

/// A value of the document, with its path. The typed accessors return the value, or report a fault to the reading and
/// return `nil`.
struct Place {
    let node: Node
    /// The path of keys, such as `routes[0].upstream`.
    let path: String
    /// The position of the key; without a key, the position of the value.
    let keyPosition: SourcePosition
    let reading: Reading

    /// The kind of a value, whatever kind is expected.
    enum Content {
        case nothing
        /// A scalar; `isPlain` if it has no quotes.
        case text(String, isPlain: Bool)
        case list([Node])
        case mapping(Node.Mapping)
        /// A value with a tag such as `!secret`, which this reader doesn't support.
        case tagged
    }

    /// The tags of values without an explicit tag.
    private static var plainTags: [Tag] { [Tag(.str), Tag(.seq), Tag(.map), Tag(.implicit)] }

    var content: Content {
        guard Self.plainTags.contains(self.node.tag) else { return .tagged }
        switch self.node {
        case .scalar(let scalar):
            let text = self.reading.document.text(of: scalar)
            let isPlain = scalar.style == .plain
            return isPlain && ["", "~", "null", "Null", "NULL"].contains(text)
                ? .nothing : .text(text, isPlain: isPlain)
        case .sequence(let sequence): return .list(Array(sequence))
        case .mapping(let mapping): return .mapping(mapping)
        case .alias: return .nothing
        }
    }

    /// Whether the value is a mapping, for keys that also accept other kinds.
    var isMapping: Bool {
        if case .mapping = self.content { true } else { false }
    }

    /// The position of the value; for an empty value, the position of its key.
    var position: SourcePosition {
        guard case .nothing = self.content else {
            return self.node.mark.map { SourcePosition($0) } ?? self.keyPosition
        }
        return self.keyPosition
    }

    /// Reports a fault of the value.
    func fault(_ message: String) { self.reading.fault(message, path: self.path, at: self.position) }

    /// Reports a fault of the key rather than its value: that it is present, or what it refers to.
    func faultAtKey(_ message: String) { self.reading.fault(message, path: self.path, at: self.keyPosition) }

    func warn(_ message: String) { self.reading.warn(message, path: self.path, at: self.keyPosition) }

    /// Reports that the value is not of the expected kind.
    func expected(_ kind: String) {
        let found =
            switch self.content {
            case .nothing: "nothing"
            case .text(let text, isPlain: true) where Double(text) != nil: "a number"
            case .text(let text, isPlain: true) where text == "true" || text == "false": text
            case .text: "text"
            case .list: "a list"
            case .mapping: "a mapping"
            case .tagged: "a tag"
            }
        self.fault("expected \(kind), found \(found)")
    }
}

/// The state of reading one file: the document, and the findings so far.
final class Reading {
    let file: String
    let document: YAMLDocument
    let surroundings: SettingsEnvironment
    private(set) var faults: [SettingsFinding] = []
    private(set) var warnings: [SettingsFinding] = []
    /// The names of the environment variables that hold secrets.
    private(set) var secretVariables: Set<String> = []
    /// A cache: many routes may name the same files, and a file with all public roots takes long to read.
    private var certificateFaults: [CertificateQuestion: String?] = [:]

    init(file: String, document: YAMLDocument, surroundings: SettingsEnvironment) {
        self.file = file
        self.document = document
        self.surroundings = surroundings
    }

    func fault(_ message: String, path: String, at position: SourcePosition) {
        self.faults.append(SettingsFinding(file: self.file, position: position, path: path, message: message))
    }

    /// As ``SettingsEnvironment/certificateFault``, but asks each question only once.
    func certificateFault(_ question: CertificateQuestion) -> String? {
        if let known = self.certificateFaults[question] { return known }
        let fault = self.surroundings.certificateFault(question)
        self.certificateFaults[question] = .some(fault)
        return fault
    }

    func note(secretVariable name: String) { self.secretVariables.insert(name) }

    func warn(_ message: String, path: String, at position: SourcePosition) {
        self.warnings.append(SettingsFinding(file: self.file, position: position, path: path, message: message))
    }
}

extension Place {
    /// A value in a mapping, with its name.
    struct Member {
        let name: String
        let place: Place
    }

    /// The members of a mapping in the order of the file. A duplicate name is a fault, and its first value is used.
    func members() -> [Member]? {
        guard case .mapping(let mapping) = self.content else {
            self.expected("a mapping")
            return nil
        }
        var members: [Member] = []
        var seen: [String: SourcePosition] = [:]
        for (key, value) in mapping {
            let position = key.mark.map { SourcePosition($0) } ?? self.position
            guard case .scalar(let scalar) = key else {
                self.reading.fault("a key must be text: before a colon there is a name", path: self.path, at: position)
                continue
            }
            let name = self.reading.document.text(of: scalar)
            let place = Place(node: value, path: self.path(of: name), keyPosition: position, reading: self.reading)
            if let first = seen.updateValue(position, forKey: name) {
                seen[name] = first
                place.faultAtKey("is given twice, first at line \(first.line)")
            } else {
                members.append(Member(name: name, place: place))
            }
        }
        return members
    }

    /// The value of a key of a mapping, for a rule that concerns several parts of the file. Reports nothing: whoever
    /// reads the mapping does.
    func member(_ name: String) -> Place? {
        guard case .mapping(let mapping) = self.content else { return nil }
        for (key, value) in mapping {
            guard case .scalar(let scalar) = key, self.reading.document.text(of: scalar) == name else { continue }
            let position = key.mark.map { SourcePosition($0) } ?? self.position
            return Place(node: value, path: self.path(of: name), keyPosition: position, reading: self.reading)
        }
        return nil
    }

    /// The items of a list.
    func items() -> [Place]? {
        guard case .list(let nodes) = self.content else {
            self.expected("a list")
            return nil
        }
        return nodes.enumerated().map { index, node in
            let position = node.mark.map { SourcePosition($0) } ?? self.position
            return Place(node: node, path: "\(self.path)[\(index)]", keyPosition: position, reading: self.reading)
        }
    }

    private func path(of name: String) -> String {
        let shown = name.count > 64 ? name.prefix(64) + "…" : name[...]
        return self.path.isEmpty ? String(shown) : "\(self.path).\(shown)"
    }
}
