internal import TokenModel

/// A mapping with a fixed set of keys.
struct Section<Key: Vocabulary> {
    private let members: [Key: Place]
    /// Known keys for which the file has a misspelling. They are not reported as missing in addition.
    private let misspelt: Set<String>
    private let owner: Place

    /// Reads a mapping and reports every unknown key; `nil` if the value is not a mapping.
    init?(_ place: Place) {
        guard let members = place.members() else { return nil }
        var known: [Key: Place] = [:]
        var misspelt: Set<String> = []
        for member in members {
            if let key = Key(rawValue: member.name) {
                known[key] = member.place
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

    /// An empty section, for a mapping that the file leaves out.
    init(absentFrom owner: Place) {
        self.members = [:]
        self.misspelt = []
        self.owner = owner
    }

    subscript(key: Key) -> Place? { self.members[key] }

    /// Whether the file has the key, even if misspelled.
    func has(_ key: Key) -> Bool { self.members[key] != nil || self.misspelt.contains(key.rawValue) }

    /// The value converted by `read`; `nil` if the file has none, or if it is wrong, which `read` has reported.
    func read<Value>(_ key: Key, _ read: (Place) -> Value?) -> Value? { self.members[key].flatMap(read) }

    /// As ``read(_:_:)``, but also reports a missing key.
    func require<Value>(_ key: Key, _ read: (Place) -> Value?) -> Value? {
        if !self.has(key) { self.missing("\(key.rawValue) is missing") }
        return self.read(key, read)
    }

    /// The mapping at `key`; an empty section if the file has none.
    func section<Inner: Vocabulary>(_ key: Key, of vocabulary: Inner.Type) -> Section<Inner> {
        self.read(key) { Section<Inner>($0) } ?? Section<Inner>(absentFrom: self.owner)
    }

    /// Whether the file explicitly permits something. A wrong value counts as permission: it already has a fault, and a
    /// second fault about what it would have permitted doesn't help.
    func allows(_ key: Key) -> Bool { self.members[key].map { $0.flag() ?? true } ?? false }

    /// Reports that something is missing, at the section's own position.
    func missing(_ message: String) { self.owner.faultAtKey(message) }
}

/// The words allowed at some place in the file, as keys or as values.
protocol Vocabulary: RawRepresentable, CaseIterable, Hashable, Sendable where RawValue == String {
    /// Whether an unknown word may be a secret in the place of its name. Then messages don't repeat it.
    static var isSensitive: Bool { get }
}

extension Vocabulary {
    static var isSensitive: Bool { false }

    /// All words that a misspelling may stand for.
    static var all: [String] { Self.allCases.map(\.rawValue) }
}
