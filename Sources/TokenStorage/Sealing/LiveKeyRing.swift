internal import Synchronization
package import TokenModel

/// A store's keys as they are now: when their source holds others, since somebody changes them, those are gone over to
/// without a restart, as soon as the store itself proves that they are its own.
///
/// A record under a key that is not known proves it by opening; before something is written, the canary does.
package final class LiveKeyRing: Sendable {
    private struct State {
        var ring: KeyRing
        /// Of the source, as last looked at.
        var revision: KeyRingRevision?
    }

    private let state: Mutex<State>
    /// `nil` where keys don't change.
    private let source: (any KeyRingSource)?

    package init(_ ring: KeyRing, from source: (any KeyRingSource)? = nil) {
        self.state = Mutex(State(ring: ring, revision: source?.revision))
        self.source = source
    }

    /// The keys that are gone by.
    package var ring: KeyRing { self.state.withLock { $0.ring } }

    /// As ``KeyRing/open(_:for:)``, also under a key that the source holds by now.
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

    /// Looks whether the source has changed, before something is sealed: what is written must be under a key that others
    /// will know.
    ///
    /// - Parameter canary: reads the store's.
    func reloadIfChanged(_ canary: () async throws(StoreError) -> StoredRecord?) async throws(StoreError) {
        guard let source = self.source, let revision = source.revision,
            self.state.withLock({ $0.revision != revision }), let latest = self.latest,
            let stored = try await canary()
        else { return }
        // Keys of another store, put in the place of this one's: what is known goes on.
        if (try? Canary(opening: stored, with: latest)) != nil { self.goOver(to: latest) }
        self.state.withLock { $0.revision = revision }
    }

    /// Looks whether the source has changed where the store may be away, so that its canary can't be asked: keys among
    /// which is the one that seals here are the same store's.
    func followUnproven() {
        guard let source = self.source, let revision = source.revision,
            self.state.withLock({ $0.revision != revision }), let latest = self.latest,
            latest.holds(self.ring.current.id)
        else { return }
        self.goOver(to: latest)
        self.state.withLock { $0.revision = revision }
    }

    /// What the source holds; `nil` where it can't be read, which is no reason to end: the keys are known.
    private var latest: KeyRing? { try? self.source?.existing() }

    private func goOver(to ring: KeyRing) {
        self.state.withLock { $0.ring = ring }
    }
}
