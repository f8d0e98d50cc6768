internal import TokenModel

/// The result of resealing all records.
package struct Resealing: Equatable, Sendable {
    /// The number of records read.
    package internal(set) var records = 0
    /// The number of records that this run has put under the new key.
    package internal(set) var resealed = 0
    /// The former keys of these records.
    var before: [RecordKey: SealingKey.ID] = [:]
    /// Records left as they are, because their account is being refreshed or other processes wrote them at each
    /// attempt.
    package internal(set) var left: [StoreSurvey.Finding] = []
    /// Records that do not open. They are kept.
    package internal(set) var unreadable: [StoreSurvey.Finding] = []

    /// Whether every record is under the key that seals.
    package var isComplete: Bool { self.left.isEmpty && self.unreadable.isEmpty }
}

extension OpenedStore {
    /// Reseals every record that is under another key than the one that seals, each by compare-and-set.
    ///
    /// A record with a claim is left as it is, because the holder of the claim expects its version.
    ///
    /// - Parameter progress: called after each record.
    package func reseal(progress: (Resealing) -> Void = { _ in }) async throws(StoreError) -> Resealing {
        var report = Resealing()
        try await self.store.forEachRecord(under: .all) { (record) async throws(StoreError) in
            let key = record.key
            guard key != .mirror else { return }
            report.records += 1
            switch try await self.reseal(record.stored, at: key) {
            case .unchanged: break
            case .resealed(let former):
                report.resealed += 1
                report.before[key] = former
            case .left(let reason): report.left.append(StoreSurvey.Finding(record: key, reason: reason))
            case .unreadable(let reason): report.unreadable.append(StoreSurvey.Finding(record: key, reason: reason))
            }
            progress(report)
        }
        return report
    }

    private enum Ending {
        case unchanged
        case resealed(SealingKey.ID?)
        case left(String)
        case unreadable(String)
    }

    private func reseal(_ first: StoredRecord, at key: RecordKey) async throws(StoreError) -> Ending {
        var stored = first
        for _ in 0..<8 {
            guard self.keyRing.sealsAnew(stored.value) else { return .unchanged }
            let plaintext: Secret
            do throws(StoreError) {
                let opened = try self.opened(stored, at: key)
                if opened.isClaimed { return .left("its account is being refreshed") }
                plaintext = opened.plaintext
            } catch {
                return .unreadable(error.message)
            }
            let version = self.store.guarantees.version(behind: stored.version)
            let context =
                key == .canary
                ? Canary.context(version) : SealingContext(store: self.storeID, key: key, version: version)
            let sealed = try self.keyRing.seal(plaintext, for: context)
            do throws(StoreError) {
                try await self.store.write(sealed, at: key, as: version, expecting: stored.version)
                return .resealed(stored.value.keyID)
            } catch {
                guard error.code == .conflict else { throw error }
                guard let current = try await self.store.read(key) else { return .unchanged }
                stored = current
            }
        }
        return .left("others wrote it each time")
    }
}

/// The state of all records of a store.
package struct StoreSurvey: Equatable, Sendable {
    /// A record, and the reason why it was skipped or does not open.
    package struct Finding: Equatable, Sendable {
        package let record: RecordKey
        package let reason: String
    }

    /// The number of records read.
    package internal(set) var records = 0
    /// Records that do not open.
    package internal(set) var unreadable: [Finding] = []
    /// The number of records sealed under each key, whether they open or not.
    package internal(set) var byKey: [SealingKey.ID: Int] = [:]
    /// The number of records that open, by key.
    package internal(set) var openedByKey: [SealingKey.ID: Int] = [:]

    /// The number of records that open.
    package var opened: Int { self.records - self.unreadable.count }

    mutating func found(_ sealed: SealedBytes) {
        self.records += 1
        if let id = sealed.keyID { self.byKey[id, default: 0] += 1 }
    }
}

extension OpenedStore {
    /// Opens every record as its users do. Changes nothing.
    ///
    /// - Parameter progress: called after each record.
    package func survey(
        progress: (StoreSurvey) -> Void = { _ in }
    ) async throws(StoreError) -> StoreSurvey {
        var survey = StoreSurvey()
        try await self.store.forEachRecord(under: .all) { (record) async throws(StoreError) in
            let (key, stored) = (record.key, record.stored)
            // The mark of a mirror is not sealed.
            guard key != .mirror else { return }
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

    /// The plaintext of a record, and whether it holds a claim: a refresh of its account is in progress.
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
