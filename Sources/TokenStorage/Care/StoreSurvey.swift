internal import TokenModel

/// What a look at all records of a store has found.
package struct StoreSurvey: Equatable, Sendable {
    /// A record, and why something is not done with it.
    package struct Finding: Equatable, Sendable {
        package let record: RecordKey
        package let reason: String
    }

    /// All that were looked at.
    package internal(set) var records = 0
    /// Those that do not open.
    package internal(set) var unreadable: [Finding] = []
    /// How many are sealed under which key, whether they open or not.
    package internal(set) var byKey: [SealingKey.ID: Int] = [:]
    /// The same of those that open.
    package internal(set) var openedByKey: [SealingKey.ID: Int] = [:]

    /// How many open.
    package var opened: Int { self.records - self.unreadable.count }

    mutating func found(_ sealed: SealedBytes) {
        self.records += 1
        if let id = sealed.keyID { self.byKey[id, default: 0] += 1 }
    }
}

extension OpenedStore {
    /// Opens every record as those who use it would; changes nothing.
    ///
    /// - Parameter progress: told after each of them.
    package func survey(
        progress: (StoreSurvey) -> Void = { _ in }
    ) async throws(StoreError) -> StoreSurvey {
        var survey = StoreSurvey()
        try await self.store.forEachRecord(under: .all) { (record) async throws(StoreError) in
            let (key, stored) = (record.key, record.stored)
            survey.found(stored.value)
            do throws(StoreError) {
                _ = try self.opened(stored, at: key)
                if let id = stored.value.keyID { survey.openedByKey[id, default: 0] += 1 }
            } catch {
                survey.unreadable.append(StoreSurvey.Finding(record: key, reason: error.message))
            }
            progress(survey)
        }
        return survey
    }

    /// The plaintext of a record, and whether it says that a refresh of its account is under way.
    func opened(_ stored: StoredRecord, at key: RecordKey) throws(StoreError) -> (plaintext: Secret, isClaimed: Bool) {
        if key == .canary {
            let plaintext = try self.keyRing.open(stored.value, for: Canary.context(stored.version))
            return (plaintext, false)
        }
        let entry = try self.records.open(stored, at: key)
        guard RecordKey.Prefix.accounts.contains(key) else { return (entry.plaintext, false) }
        return (entry.plaintext, try AccountRecord(decoding: entry.plaintext).claim != nil)
    }
}
