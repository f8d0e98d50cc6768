internal import LocalFiles
internal import TokenModel

/// What a look at the journals of one `state_dir` has found: new tokens that the store did not take yet.
package struct JournalSurvey: Equatable, Sendable {
    /// All that were looked at. Also of starts that run: theirs come and go.
    package internal(set) var entries = 0
    /// Those that open.
    package internal(set) var opened = 0
    /// How many are sealed under which key, whether they open or not.
    package internal(set) var byKey: [SealingKey.ID: Int] = [:]
    /// Journals that can't be read, or hold what does not open.
    package internal(set) var unreadable: [StoreSurvey.Finding] = []
    /// How many need a key that is not there.
    package internal(set) var locked = 0
    /// Whether all could be read as far as their keys: else any key may be needed.
    package internal(set) var isWhole = true

    package init() {}

    /// Whether to take a key away may lose tokens.
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
    /// Opens what stands in the journals of this store's incarnations, as the next start would; changes nothing.
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
