internal import SystemSupport
internal import TokenModel

/// The state of the journals in one `state_dir`: new tokens that the store has not yet taken.
package struct JournalSurvey: Equatable, Sendable {
    /// The number of entries found. Includes those of running processes, which come and go.
    package internal(set) var entries = 0
    /// The number of entries that open.
    package internal(set) var opened = 0
    /// The number of entries sealed under each key, whether they open or not.
    package internal(set) var byKey: [SealingKey.ID: Int] = [:]
    /// Journals that can't be read, or that hold entries that do not open.
    package internal(set) var unreadable: [StoreSurvey.Finding] = []
    /// The number of entries that need a key that is not in the key ring.
    package internal(set) var locked = 0
    /// Whether all journals could be read far enough to see the keys of their entries. If not, any key may be needed.
    package internal(set) var isWhole = true

    package init() {}

    /// Whether removing the key may lose tokens.
    package func mayNeed(_ key: SealingKey.ID) -> Bool { !self.isWhole || self.byKey[key] != nil }

    fileprivate mutating func found(_ contents: JournalContents, in journal: RecordKey) {
        self.entries += contents.entries.count + contents.unopened
        self.opened += contents.entries.count
        self.byKey.merge(contents.byKey, uniquingKeysWith: +)
        self.locked += contents.locked.values.reduce(0, +)
        if contents.keyless > 0 { self.isWhole = false }
        for (key, count) in contents.locked.sorted(by: { $0.key.description < $1.key.description }) {
            self.tell(journal, "\(count) are sealed with key \(key), which the key ring does not hold")
        }
        if contents.foreign > 0 {
            self.tell(journal, "\(contents.foreign) were written by a newer Martlet, or damaged")
        }
    }

    fileprivate mutating func tell(_ journal: RecordKey, _ reason: String) {
        self.unreadable.append(StoreSurvey.Finding(record: journal, reason: reason))
    }
}

extension OpenedStore {
    /// Opens the journals of this store's incarnations, as the next start does. Changes nothing.
    package func surveyJournals(in stateDirectory: String) -> JournalSurvey {
        let files = IncarnationFiles(stateDirectory: stateDirectory, storeID: self.storeID)
        var survey = JournalSurvey()
        do throws(SystemCallError) {
            for incarnation in try files.withJournals() {
                let key = RecordKey(rawValue: "journal/\(incarnation)")
                do throws(SystemCallError) {
                    survey.found(
                        try JournalFile.contents(
                            at: files.journalPath(of: incarnation),
                            self.journalSeal(of: incarnation)
                        ),
                        in: key
                    )
                } catch {
                    survey.isWhole = false
                    survey.tell(key, error.message)
                }
            }
        } catch {
            survey.isWhole = false
            survey.tell(RecordKey(rawValue: "journal/"), error.message)
        }
        return survey
    }
}
