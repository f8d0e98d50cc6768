internal import TokenModel

/// Finds out whether a store is a mirror of a primary, or may become one.
///
/// Catching up replaces and removes what the primary does not have. So a store that holds anything else is refused.
struct MirrorInspection: Sendable {
    enum Finding: Sendable {
        case mirror(MirrorMark.Entry)
        /// It was a mirror, and somebody has started from it.
        case promoted
        case refused(StoreError)
    }

    private let store: any TokenStore
    private let primary: any TokenStore
    private let keys: (any KeyRingSource)?

    /// - Parameter keys: those of the primary. They tell whether two canaries that differ name the same store, as after
    ///   a change of the sealing key; without them such a mirror is refused.
    init(of store: any TokenStore, for primary: any TokenStore, keys: (any KeyRingSource)?) {
        self.store = store
        self.primary = primary
        self.keys = keys
    }

    /// Whether the store is still the mirror with this mark.
    func isMirror(_ id: MirrorMark.ID) async throws(StoreError) -> Bool {
        try await MirrorMark.read(in: self.store)?.mark.isOfMirror(id) == true
    }

    /// Inspects the store. Writes the mark if the store has none and may become a mirror.
    ///
    /// - Parameter known: the id of the mark that it had before; `nil` at first.
    func run(knowing known: MirrorMark.ID?) async throws(StoreError) -> Finding {
        let entry = try await MirrorMark.read(in: self.store)
        if let known, let entry, !entry.mark.isOfMirror(known) { return .promoted }
        if entry?.mark.state == .promoted { return .refused(Self.usedByItself) }
        let hasRecords = try await self.hasRecords()
        // A mirror that was emptied is a new one.
        if known != nil, entry == nil, hasRecords { return .promoted }
        if known == nil || entry == nil, let refusal = try await self.refusal(isMarked: entry != nil, hasRecords) {
            return .refused(refusal)
        }
        if let refusal = try await self.refusalByCanary() { return .refused(refusal) }
        if let entry { return .mirror(entry) }
        let mark = MirrorMark(id: .random(), state: .behind, completeAt: nil)
        guard let found = try await mark.write(in: self.store, expecting: nil) else {
            throw StoreError(.unreachable, "the mark of the mirror was removed while it was written")
        }
        return .mirror(found)
    }

    private func hasRecords() async throws(StoreError) -> Bool {
        try await self.store.records(under: .all, after: nil, limit: 2).contains { $0.key != .mirror }
    }

    /// Why a store that this process sees for the first time can't become a mirror.
    private func refusal(isMarked: Bool, _ hasRecords: Bool) async throws(StoreError) -> StoreError? {
        guard !isMarked, hasRecords else { return nil }
        guard try await self.store.read(.canary) != nil else {
            return StoreError(
                .unreadable,
                "it holds records and no canary, the record that names a store: what they are is unknown; a mirror begins empty"
            )
        }
        let replicas = try await self.store.records(under: .replicas, after: nil, limit: 1)
        guard try await self.store.read(.place) == nil, replicas.isEmpty else {
            return Self.usedByItself
        }
        return nil
    }

    private static let usedByItself = StoreError(
        .invalid,
        "gateways have used it as a store of its own, and becoming a mirror would undo what they wrote: empty it first if the "
            + "primary is the one that counts"
    )

    private func refusalByCanary() async throws(StoreError) -> StoreError? {
        guard let theirs = try await self.store.read(.canary) else { return nil }
        guard let ours = try await self.primary.read(.canary) else {
            return StoreError(
                .invalid,
                "it holds a store, and the primary has no canary: to go on from what the mirror holds, start a gateway on it "
                    + "with martlet serve --accept-older-store"
            )
        }
        guard ours != theirs else { return nil }
        let ring = (try? self.keys?.existing()) ?? nil
        let names = [ours, theirs].map { canary in
            ring.flatMap { try? Canary(opening: canary, with: $0) }?.storeID
        }
        guard let ours = names[0], ours == names[1] else {
            return StoreError(
                .unreadable,
                "it holds another store than the primary does, or one sealed under a key that is gone: a mirror begins empty"
            )
        }
        return nil
    }
}
