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
