internal import Yams

/// One value of the document with its name: it is asked for what it should be, and if it is not, it says so in the
/// reading's faults and answers `nil`.
struct Place {
    let node: Node
    /// The keys that lead here, such as `routes[0].upstream`.
    let path: String
    /// Where its key stands; where it has none, the value itself.
    let keyPosition: SourcePosition
    let reading: Reading

    /// What a value is, whatever it should be.
    enum Content {
        case nothing
        /// With whether it stands without quotes.
        case text(String, isPlain: Bool)
        case list([Node])
        case mapping(Node.Mapping)
        /// A value with a tag such as `!secret`, which promises something that nobody here would keep.
        case tagged
    }

    /// What a value without a tag of its own has.
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

    /// Whether the value is a mapping, where it may also be something else.
    var isMapping: Bool {
        if case .mapping = self.content { true } else { false }
    }

    /// Where the value begins; an empty one is where its key is.
    var position: SourcePosition {
        guard case .nothing = self.content else {
            return self.node.mark.map { SourcePosition($0) } ?? self.keyPosition
        }
        return self.keyPosition
    }

    /// Reports that the value is wrong.
    func fault(_ message: String) { self.reading.fault(message, path: self.path, at: self.position) }

    /// Reports what is wrong with the key rather than with its value: that it is there, or what it leads to.
    func faultAtKey(_ message: String) { self.reading.fault(message, path: self.path, at: self.keyPosition) }

    func warn(_ message: String) { self.reading.warn(message, path: self.path, at: self.keyPosition) }

    /// Reports that the value is of another kind than the file should have here.
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

/// One reading of one file: the document, and what there is to say about it so far.
final class Reading {
    let file: String
    let document: YAMLDocument
    let surroundings: Surroundings
    private(set) var faults: [SettingsFinding] = []
    private(set) var warnings: [SettingsFinding] = []
    /// Many routes may name the same files, and a file of all the world's roots takes long to read.
    private var certificateFaults: [CertificateQuestion: String?] = [:]

    init(file: String, document: YAMLDocument, surroundings: Surroundings) {
        self.file = file
        self.document = document
        self.surroundings = surroundings
    }

    func fault(_ message: String, path: String, at position: SourcePosition) {
        self.faults.append(SettingsFinding(file: self.file, position: position, path: path, message: message))
    }

    /// As ``Surroundings/certificateFault``, which is asked once.
    func certificateFault(_ question: CertificateQuestion) -> String? {
        if let known = self.certificateFaults[question] { return known }
        let fault = self.surroundings.certificateFault(question)
        self.certificateFaults[question] = .some(fault)
        return fault
    }

    func warn(_ message: String, path: String, at position: SourcePosition) {
        self.warnings.append(SettingsFinding(file: self.file, position: position, path: path, message: message))
    }
}

extension Place {
    /// A value within a mapping, and the name it has there.
    struct Member {
        let name: String
        let place: Place
    }

    /// The values of a mapping by their names, in the order of the file. A name that comes twice is a fault, and its
    /// first value stands.
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

    /// The values of a list.
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
