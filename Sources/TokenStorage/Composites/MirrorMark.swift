package import TokenModel

/// The mark of a store that is a mirror of another one, as long as it is one.
///
/// A mirror may lack records, so a gateway does not start on a marked store unless an operator accepts that
/// (``MirrorTreatment``). Then the mark is removed, and whoever still writes to the mirror notices and stops.
///
/// The mark is the record ``RecordKey/mirror``. It holds no secret and is not sealed, because a store that writes to
/// mirrors has no keys. All gateways with the same mirror share its mark, so its id is the one that is there.
package struct MirrorMark: Equatable, Sendable {
    /// The identity of a mark, drawn when it is first written.
    package struct ID: RandomIdentifier {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }
    }

    package let id: ID
    /// Whether the mirror had all records when this was written, as far as its writer knew.
    package var isComplete: Bool
    /// When the mirror was last known to have all records; `nil`: never.
    package var completeAt: WallTime?

    package init(id: ID, isComplete: Bool, completeAt: WallTime?) {
        self.id = id
        self.isComplete = isComplete
        self.completeAt = completeAt
    }

    /// The mark as the bytes of its record: a line of words, of which the first three never change.
    package func encoded() -> SealedBytes {
        let time = self.completeAt.map { String($0.millisecondsSince1970) } ?? "never"
        let words = Self.format + [self.id.rawValue, self.isComplete ? "complete" : "behind", time]
        return SealedBytes(bytes: Array(words.joined(separator: " ").utf8))
    }

    private static let format = ["martlet", "mirror", "1"]

    /// Reads what ``encoded()`` wrote.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for any other bytes.
    package init(decoding value: SealedBytes) throws(StoreError) {
        let text = String(validating: value.bytes, as: UTF8.self) ?? ""
        let words = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 6, Array(words.prefix(3)) == Self.format, ["complete", "behind"].contains(words[4]) else {
            throw Self.malformed
        }
        self.id = ID(rawValue: words[3])
        self.isComplete = words[4] == "complete"
        guard words[5] != "never" else {
            self.completeAt = nil
            return
        }
        guard let milliseconds = Int64(words[5]) else { throw Self.malformed }
        self.completeAt = WallTime(millisecondsSince1970: milliseconds)
    }

    private static let malformed = StoreError(
        .unreadable,
        "the mark that says whether this store is a mirror is damaged, or was written by a newer Martlet"
    )
}

extension MirrorMark {
    /// A mark that was read, and its version.
    struct Entry: Equatable, Sendable {
        let mark: MirrorMark
        let version: Version
    }

    /// The mark of a store; `nil` if the store is not a mirror.
    static func read(in store: any TokenStore) async throws(StoreError) -> Entry? {
        guard let stored = try await store.read(.mirror) else { return nil }
        return try Self.entry(stored)
    }

    /// Writes the mark in place of version `expecting` (`nil`: there is none yet).
    ///
    /// - Returns: what is there then. If it was changed meanwhile, that is another writer's mark, or `nil` if there is
    ///   none any more.
    func write(in store: any TokenStore, expecting: Version?) async throws(StoreError) -> Entry? {
        let version = store.guarantees.version(behind: expecting)
        do throws(StoreError) {
            try await store.write(self.encoded(), at: .mirror, as: version, expecting: expecting)
            return Entry(mark: self, version: version)
        } catch {
            guard error.code == .conflict else { throw error }
            return try error.current.map { stored throws(StoreError) in try Self.entry(stored) }
        }
    }

    private static func entry(_ stored: StoredRecord) throws(StoreError) -> Entry {
        Entry(mark: try MirrorMark(decoding: stored.value), version: stored.version)
    }

    /// Removes the mark, so that the store is one of its own. A store without a mark stays as it is.
    static func remove(from store: any TokenStore) async throws(StoreError) {
        var current = try await store.read(.mirror)
        while let stored = current {
            do throws(StoreError) {
                try await store.remove(.mirror, expecting: stored.version)
                return
            } catch {
                // A gateway that writes to this mirror has refreshed the mark.
                guard error.code == .conflict else { throw error }
                current = error.current
            }
        }
    }

    /// The error for a start on a mirror.
    var refusal: StoreError {
        let time = self.completeAt.map { "\($0.rfc3339)" }
        let state =
            switch (self.isComplete, time) {
            case (true, let time?): "it was complete at \(time)"
            case (_, let time?): "it is behind: records are missing here and there; it was last complete at \(time)"
            case (_, nil): "it was never complete: records are missing"
            }
        return StoreError(
            .outdated,
            "this store is a mirror of another one; \(state). To go on from what it holds, stop the gateways of the other "
                + "store and start one with martlet serve --accept-older-store: this makes it a store of its own"
        )
    }
}

/// What to do with a store that carries the mark of a mirror when it is opened.
package enum MirrorTreatment: Sendable {
    /// Throw ``StoreError/Code/outdated``.
    case refuse
    /// Remove the mark, so that the store is one of its own. An operator must have accepted that records may be missing.
    case promote
    /// Open it all the same, to read it only.
    case readOnly
}
