package import TokenModel

/// The mark of a store that is a mirror of another one, or was one.
///
/// A mirror may lack records, so a gateway does not start on it unless an operator accepts that (``MirrorTreatment``).
/// Then the mark says so for good: whoever still writes to the mirror notices and stops, and a gateway that is started
/// with an old configuration does not make it a mirror again.
///
/// The mark is the record ``RecordKey/mirror``. It holds no secret and is not sealed, because a store that writes to
/// mirrors has no keys. All gateways with the same mirror share its mark, so its id is the one that is there.
package struct MirrorMark: Equatable, Sendable {
    /// The identity of a mark, drawn when it is first written.
    package struct ID: RandomIdentifier {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }
    }

    /// What the store is, as far as the writer of the mark knew.
    package enum State: String, Sendable {
        /// A mirror that lacks records, or may.
        case behind
        /// A mirror that has all records.
        case complete
        /// A store of its own, because somebody has started from it.
        case promoted
    }

    package let id: ID
    package var state: State
    /// When the mirror was last known to have all records; `nil`: never.
    package var completeAt: WallTime?

    package init(id: ID, state: State, completeAt: WallTime?) {
        self.id = id
        self.state = state
        self.completeAt = completeAt
    }

    /// The mark as the bytes of its record: a line of words, of which the first three never change.
    package func encoded() -> SealedBytes {
        let time = self.completeAt.map { String($0.millisecondsSince1970) } ?? "never"
        let words = Self.format + [self.id.rawValue, self.state.rawValue, time]
        return SealedBytes(bytes: Array(words.joined(separator: " ").utf8))
    }

    private static let format = ["martlet", "mirror", "1"]

    /// Reads what ``encoded()`` wrote.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for any other bytes.
    package init(decoding value: SealedBytes) throws(StoreError) {
        let text = String(validating: value.bytes, as: UTF8.self) ?? ""
        let words = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 6, Array(words.prefix(3)) == Self.format, let state = State(rawValue: words[4]) else {
            throw Self.malformed
        }
        self.id = ID(rawValue: words[3])
        self.state = state
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

    /// Whether this is the mark with that id, and the store still a mirror.
    func isOfMirror(_ id: ID) -> Bool { self.id == id && self.state != .promoted }

    /// The mark of a store; `nil` if the store never was a mirror.
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

    /// Lets the mark say that the store is one of its own. A store without a mark stays as it is.
    static func promote(_ store: any TokenStore) async throws(StoreError) {
        var current = try await Self.read(in: store)
        while var mark = current?.mark, mark.state != .promoted {
            mark.state = .promoted
            // A gateway that writes to this mirror may have refreshed the mark meanwhile.
            current = try await mark.write(in: store, expecting: current?.version)
        }
    }

    /// The error for a start on a mirror; `nil` if the store is one of its own.
    var refusal: StoreError? {
        guard self.state != .promoted else { return nil }
        let time = self.completeAt?.rfc3339
        let state =
            switch (self.state, time) {
            case (.complete, let time?): "it was complete at \(time)"
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

/// What to do with a store that is a mirror when it is opened.
package enum MirrorTreatment: Sendable {
    /// Throw ``StoreError/Code/outdated``.
    case refuse
    /// Make it a store of its own. An operator must have accepted that records may be missing.
    case promote
    /// Open it all the same, to read it only.
    case readOnly
}
