internal import FoundationEssentials
internal import TextCoding
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
    /// The key that all records should be sealed with.
    let key: String
    /// Whether this run generated the key.
    let keyAdded: Bool
    let records: Int
    let resealed: Int
    let left: [FoundRecord]
    let unreadable: [FoundRecord]
    /// Keys that are still in the file, but that no record uses.
    let unused: [String]
    /// Keys that no record uses, but that are kept because journal entries use them.
    let journalled: [String]
    /// Keys that a running gateway still seals with.
    let lingering: [String]
    /// The replicas that do not have the new key yet, so that nothing was sealed again; or that do not seal under it yet, so
    /// that no key was removed.
    let missingAt: [String]
    /// Keys that were removed from the file.
    let retired: [String]

    private enum CodingKeys: String, CodingKey {
        case store, key, records, resealed, left, unreadable, unused, journalled, lingering, retired
        case missingAt = "missing_at"
        case keyAdded = "key_added"
    }
}

/// What `martlet store copy --json` prints.
struct CopyReport: Encodable {
    let source: String
    let target: String
    /// Records of the source.
    let records: Int
    /// Records that this run has written.
    let copied: Int
    /// Records of an earlier copy that this run has removed.
    let removed: Int
    /// Records that are equal in both stores and open under the target's keys.
    let verified: Int
    /// Records that open under neither store's keys. They were copied as they are.
    let unreadable: [FoundRecord]
    /// Records that open under the source's keys only.
    let locked: [FoundRecord]
    /// Records that were changed during the copy.
    let changed: [String]
    /// Entries in the journals of the source's `state_dir`: new tokens that the source has not accepted.
    let journalled: Int

    init(_ outcome: StoreCopying.Outcome, from source: String, to target: String, journalled: Int) {
        self.source = source
        self.target = target
        self.records = outcome.records
        self.copied = outcome.copied
        self.removed = outcome.removed
        self.verified = outcome.verified
        self.unreadable = outcome.unreadable.map(FoundRecord.init)
        self.locked = outcome.locked.map(FoundRecord.init)
        self.changed = outcome.changed.map(\.rawValue)
        self.journalled = journalled
    }
}

/// What the journals in the configuration's `state_dir` hold: tokens that the store has not accepted.
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

/// How many records are sealed with a key. The key is in the file, or a record names it.
struct KeyUse: Encodable {
    let id: String
    let records: Int
    /// The number of journal entries sealed with it.
    let entries: Int
    /// The key's role: `current` (which seals), `next` (the first of the key file, where a replica lacks it yet), `older`
    /// (which only opens) or `missing` (not in the file).
    let role: String

    /// What can be done about the key; `nil` if nothing is needed. The counts alone don't tell whether an older key can
    /// be removed: a gateway may still seal with it.
    var advice: String? {
        if self.role == "next" { return "martlet store rekey goes on with it when every replica has it" }
        guard self.role == "older" else { return nil }
        if self.records > 0 { return "martlet store rekey seals them anew" }
        guard self.entries == 0 else { return nil }
        return "martlet store rekey --retire takes it out, unless a gateway still seals under it"
    }
}

/// A record's key in the store, and why it is listed.
struct FoundRecord: Encodable {
    let record: String
    let reason: String

    init(_ finding: StoreSurvey.Finding) {
        self.record = finding.record.rawValue
        self.reason = finding.reason
    }
}

extension Console {
    /// Prints a report as one line of JSON.
    static func sayJSON(_ report: some Encodable) throws {
        self.say(try self.json(report))
    }

    /// The JSON text of a report.
    static func json(_ report: some Encodable) throws -> String {
        return String(decoding: try JSONText.encode(report), as: UTF8.self)
    }
}

extension KeyUse {
    /// All keys of the key ring, the sealing key first, then keys that only records name.
    ///
    /// - Parameter first: the first key of the key file, which seals next if it does not seal yet.
    static func all(
        _ keyRing: KeyRing,
        first: SealingKey.ID?,
        _ survey: StoreSurvey,
        _ journals: JournalSurvey
    ) -> [KeyUse] {
        let known = keyRing.ids
        let missing = Set(survey.byKey.keys).union(journals.byKey.keys).filter { !known.contains($0) }.sorted {
            $0.description < $1.description
        }
        return (known + missing).map { id in
            KeyUse(
                id: id.description,
                records: survey.byKey[id] ?? 0,
                entries: journals.byKey[id] ?? 0,
                role: id == keyRing.current.id
                    ? "current" : id == first ? "next" : known.contains(id) ? "older" : "missing"
            )
        }
    }
}
