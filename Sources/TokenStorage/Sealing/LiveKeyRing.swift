internal import Synchronization
package import TokenModel

/// The current keys of a store. When the source of the keys changes, the process uses the new keys without a restart,
/// once there is proof that they belong to this store.
///
/// On a store that processes of several hosts share, each host has a file of its own, and the files change one after
/// another. So there the first key of the file does not decide which key seals: it is the key of the canary. `martlet store
/// rekey` puts the canary under a new key when every replica has that key (``Rekeying``).
///
/// The proof is a record under an unknown key that opens with the new keys or, before a write, the canary.
package final class LiveKeyRing: Sendable {
    private struct State {
        var ring: KeyRing
        /// The key of the canary, if that decides which key seals.
        var sealing: SealingKey.ID?
        /// The revision of the source when it was last checked.
        var revision: KeyRingRevision?
    }

    private let state: Mutex<State>
    /// `nil` if the keys never change.
    private let source: (any KeyRingSource)?

    /// - Parameter sealing: the key of the canary, if that decides which key seals.
    package init(_ ring: KeyRing, from source: (any KeyRingSource)? = nil, sealing: SealingKey.ID? = nil) {
        self.state = Mutex(
            State(ring: ring.sealing(under: sealing), sealing: sealing, revision: source?.revision)
        )
        self.source = source
    }

    /// The keys in use.
    package var ring: KeyRing { self.state.withLock { $0.ring } }

    /// Opens a record as ``KeyRing/open(_:for:)`` does, also under a key that has been added to the source since.
    package func open(_ sealed: SealedBytes, for context: SealingContext) throws(StoreError) -> Secret {
        let known = self.ring
        do throws(StoreError) {
            return try known.open(sealed, for: context)
        } catch {
            guard let id = sealed.keyID, !known.holds(id), let latest = self.latest, latest.holds(id) else {
                throw error
            }
            let plaintext = try latest.open(sealed, for: context)
            self.goOver(to: latest)
            return plaintext
        }
    }

    /// Checks whether the source has changed, before something is sealed: a record must be sealed under a key that the
    /// other processes know.
    ///
    /// - Parameter canary: reads the canary of the store.
    func reloadIfChanged(_ canary: () async throws(StoreError) -> StoredRecord?) async throws(StoreError) {
        guard let source = self.source, let revision = source.revision,
            self.state.withLock({ $0.revision != revision }), let latest = self.latest,
            let stored = try await canary()
        else { return }
        // If the new keys belong to another store, the process keeps the keys in use.
        if (try? Canary(opening: stored, with: latest)) != nil {
            self.goOver(to: latest)
            self.follow(canary: stored)
        }
        self.state.withLock { $0.revision = revision }
    }

    /// Seals under the key of the canary from now on, if that is what decides.
    func follow(canary stored: StoredRecord) {
        guard (try? Canary(opening: stored, with: self.ring)) != nil else { return }
        self.state.withLock { state in
            guard state.sealing != nil else { return }
            state.sealing = stored.value.keyID
            state.ring = state.ring.sealing(under: state.sealing)
        }
    }

    /// Checks whether the source has changed, without the store, which may be unreachable. New keys belong to the same
    /// store if they include the key that seals here.
    func followUnproven() {
        guard let source = self.source, let revision = source.revision,
            self.state.withLock({ $0.revision != revision }), let latest = self.latest,
            latest.holds(self.ring.current.id)
        else { return }
        self.goOver(to: latest)
        self.state.withLock { $0.revision = revision }
    }

    /// The keys in the source. `nil` if the source can't be read, which is no failure: the keys in use are still known.
    private var latest: KeyRing? { try? self.source?.existing() }

    private func goOver(to ring: KeyRing) {
        self.state.withLock { $0.ring = ring.sealing(under: $0.sealing) }
    }
}
