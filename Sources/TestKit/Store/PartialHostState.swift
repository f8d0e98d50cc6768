package import TokenModel
package import TokenStorage

/// A host state made of the parts that a test provides. The missing parts behave as ``NoHostState``.
package struct PartialHostState: HostState {
    private let witness: any IncarnationWitness
    private let journal: any SuccessJournal
    private let copy: any KillLogCopy

    package init(
        witness: (any IncarnationWitness)? = nil,
        journal: (any SuccessJournal)? = nil,
        copy: (any KillLogCopy)? = nil
    ) {
        self.witness = witness ?? NoHostState()
        self.journal = journal ?? NoHostState()
        self.copy = copy ?? NoHostState()
    }

    package var limitations: [String] { [] }

    package func isDead(_ incarnation: IncarnationID) async -> Bool { await self.witness.isDead(incarnation) }

    package func keep(_ record: AccountRecord, for account: AccountID) async -> JournalPlace? {
        await self.journal.keep(record, for: account)
    }

    package func release(_ place: JournalPlace) async { await self.journal.release(place) }

    package var storeEndsWithProcess: Bool { self.copy.storeEndsWithProcess }
    package func entries() async throws(StoreError) -> [KillLogFileEntry] { try await self.copy.entries() }
    package func add(_ entries: [KillLogFileEntry]) async throws(StoreError) { try await self.copy.add(entries) }
    package func drop(pendingKill id: String) async -> Bool { await self.copy.drop(pendingKill: id) }
    package func pendingKills() async throws(StoreError) -> [Result<Secret, StoreError>] {
        try await self.copy.pendingKills()
    }

    package func keep(pendingKill bytes: Secret, id: String) async throws(StoreError) {
        try await self.copy.keep(pendingKill: bytes, id: id)
    }
}
