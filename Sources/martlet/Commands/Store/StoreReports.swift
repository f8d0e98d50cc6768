internal import FoundationEssentials
internal import TokenStorage

/// What `martlet store verify --json` prints.
struct VerifyReport: Encodable {
    let store: String
    let records: Int
    let opened: Int
    let keys: [KeyUse]
    let unreadable: [FoundRecord]
    let journals: JournalReport
}

/// What `martlet store rekey --json` prints.
struct RekeyReport: Encodable {
    let store: String
    /// Under which all is to be.
    let key: String
    /// Whether it was drawn just now.
    let keyAdded: Bool
    let records: Int
    let resealed: Int
    let left: [FoundRecord]
    let unreadable: [FoundRecord]
    /// Keys that are still in the file and that no record names.
    let unused: [String]
    /// Keys that no record names, and that stay for what journals hold.
    let journalled: [String]
    /// Keys that a gateway still seals under.
    let lingering: [String]
    /// Keys that were taken out of the file.
    let retired: [String]

    private enum CodingKeys: String, CodingKey {
        case store, key, records, resealed, left, unreadable, unused, journalled, lingering, retired
        case keyAdded = "key_added"
    }
}

/// What the journals of the configuration's `state_dir` hold that the store did not take.
struct JournalReport: Encodable {
    let entries: Int
    let opened: Int
    let unreadable: [FoundRecord]

    init(_ survey: JournalSurvey) {
        self.entries = survey.entries
        self.opened = survey.opened
        self.unreadable = survey.unreadable.map(FoundRecord.init)
    }
}

/// How many records a key of the file, or one that a record names, seals.
struct KeyUse: Encodable {
    let id: String
    let records: Int
    /// Of journals.
    let entries: Int
    /// What it is in the file of keys: `current`, the first, which seals; `older`, one behind it, which only opens; or
    /// `missing`.
    let role: String

    /// What can be done about it; `nil` where nothing has to be. Whether an older key can go is not told by what it
    /// seals now: a gateway may still seal under it.
    var advice: String? {
        guard self.role == "older" else { return nil }
        if self.records > 0 { return "martlet store rekey seals them anew" }
        guard self.entries == 0 else { return nil }
        return "martlet store rekey --retire takes it out, unless a gateway still seals under it"
    }
}

/// A record by its place in the store, and why it is named.
struct FoundRecord: Encodable {
    let record: String
    let reason: String

    init(_ finding: StoreSurvey.Finding) {
        self.record = finding.record.rawValue
        self.reason = finding.reason
    }
}

extension Console {
    /// A result as JSON, in one line.
    static func sayJSON(_ report: some Encodable) throws {
        self.say(try self.json(report))
    }

    /// The same text.
    static func json(_ report: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(report), as: UTF8.self)
    }
}

extension KeyUse {
    /// All keys of a ring, the one that seals first, and those that only records name.
    static func all(_ keyRing: KeyRing, _ survey: StoreSurvey, _ journals: JournalSurvey) -> [KeyUse] {
        let known = keyRing.ids
        let missing = Set(survey.byKey.keys).union(journals.byKey.keys).filter { !known.contains($0) }.sorted {
            $0.description < $1.description
        }
        return (known + missing).map { id in
            KeyUse(
                id: id.description,
                records: survey.byKey[id] ?? 0,
                entries: journals.byKey[id] ?? 0,
                role: id == keyRing.current.id ? "current" : known.contains(id) ? "older" : "missing"
            )
        }
    }
}
