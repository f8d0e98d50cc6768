internal import TokenModel

/// A mapping whose keys are known beforehand.
struct Section<Key: Vocabulary> {
    private let members: [Key: Place]
    /// Keys that an unknown one was probably meant to be: they are not missing as well.
    private let misspelt: Set<String>
    private let owner: Place

    /// Takes a mapping, and reports every key that is not in the vocabulary; `nil` if it is not a mapping.
    init?(_ place: Place) {
        guard let members = place.members() else { return nil }
        var known: [Key: Place] = [:]
        var misspelt: Set<String> = []
        for member in members {
            if let key = Key(rawValue: member.name) {
                known[key] = member.place
            } else if Key.later.contains(member.name) {
                member.place.faultAtKey("is not supported yet")
            } else if !Key.isSensitive, let meant = Suggestion.closest(to: member.name, among: Key.all) {
                member.place.faultAtKey("unknown key, did you mean \"\(meant)\"?")
                misspelt.insert(meant)
            } else {
                let path = Key.isSensitive ? place.path : member.place.path
                let keys = Key.allCases.map(\.rawValue).joined(separator: ", ")
                place.reading.fault("unknown key, there are \(keys)", path: path, at: member.place.keyPosition)
            }
        }
        self.members = known
        self.misspelt = misspelt
        self.owner = place
    }

    /// One without any key, for a mapping that the file leaves out.
    init(absentFrom owner: Place) {
        self.members = [:]
        self.misspelt = []
        self.owner = owner
    }

    subscript(key: Key) -> Place? { self.members[key] }

    /// Whether the file has the key, be it misspelt.
    func has(_ key: Key) -> Bool { self.members[key] != nil || self.misspelt.contains(key.rawValue) }

    /// What `read` makes of the value; `nil` where the file has none, or a wrong one, which `read` has reported.
    func read<Value>(_ key: Key, _ read: (Place) -> Value?) -> Value? { self.members[key].flatMap(read) }

    /// As ``read(_:_:)``, and reports a key that is missing.
    func require<Value>(_ key: Key, _ read: (Place) -> Value?) -> Value? {
        if !self.has(key) { self.missing("\(key.rawValue) is missing") }
        return self.read(key, read)
    }

    /// The mapping at `key`; one without any key where the file has none.
    func section<Inner: Vocabulary>(_ key: Key, of vocabulary: Inner.Type) -> Section<Inner> {
        self.read(key) { Section<Inner>($0) } ?? Section<Inner>(absentFrom: self.owner)
    }

    /// Whether the file permits what it must permit by name. A value that is wrong counts as yes: it has a fault of its
    /// own, and another one about what it would have permitted helps nobody.
    func allows(_ key: Key) -> Bool { self.members[key].map { $0.flag() ?? true } ?? false }

    /// Reports what is not there, at what it is missing from.
    func missing(_ message: String) { self.owner.faultAtKey(message) }
}

/// The words that may stand somewhere in the file, as keys or as values.
protocol Vocabulary: RawRepresentable, CaseIterable, Hashable, Sendable where RawValue == String {
    /// Words of the documented configuration that this release doesn't know what to do with: an operator who uses one
    /// has made no mistake, and is told so.
    static var later: [String] { get }

    /// Whether a word that is not in here may itself be a secret, put where its name should be, and is not repeated.
    static var isSensitive: Bool { get }
}

extension Vocabulary {
    static var later: [String] { [] }
    static var isSensitive: Bool { false }

    /// What a slip of the pen may have meant.
    static var all: [String] { Self.allCases.map(\.rawValue) + Self.later }
}
