package import TokenModel
package import TokenStorage

/// One entry of the kill log.
package struct KillEntry: Equatable, Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        /// The scope's tokens are dead, and no new ones may come.
        case kill
        /// New tokens of the scope may come. The scope is that of the kill that the revival lifts.
        case revive
        /// Imports have given accounts other tokens. The old ones are dropped, not revoked.
        case replaced
        /// An account's tokens are dead; new ones may come.
        case removed
        /// The records are moved to another store. A replica stops if that is not the store it uses.
        case moved
        /// All replicas are locked, and so is each that starts.
        case locked
        /// A replica that starts is not locked any more. A replica that is locked stays so until it is unlocked itself.
        case unlocked
    }

    /// An import into an account that may have had tokens before.
    package struct Replacement: Equatable, Sendable {
        package let account: AccountID
        /// The grant that was put in place.
        package let grant: GrantID

        package init(account: AccountID, grant: GrantID) {
            self.account = account
            self.grant = grant
        }
    }

    package let kind: Kind
    /// For imports, the account of the first one.
    package let scope: KillScope
    /// The imports that the entry reports.
    package let replacements: [Replacement]
    /// For a move, the place of the store that the records are moved to.
    package let destination: PlaceID?
    package let id: KillID
    /// Who ordered a lock or an unlock, and from where; `nil` for other entries, whose orders are in the audit log only.
    package let requester: String?
    /// Why, for people. Never contains a token.
    package let reason: String
    package let streams: KillStreams
    package let at: WallTime

    package init(
        _ kind: Kind,
        _ scope: KillScope,
        replacements: [Replacement] = [],
        destination: PlaceID? = nil,
        id: KillID = .random(),
        requester: String? = nil,
        reason: String = "",
        streams: KillStreams = .abort,
        at: WallTime
    ) {
        self.kind = kind
        // The encoding writes the first import as the scope.
        self.scope = replacements.first.map { .account($0.account) } ?? scope
        self.replacements = replacements
        self.destination = destination
        self.id = id
        self.requester = requester
        self.reason = reason
        self.streams = streams
        self.at = at
    }
}

extension KillEntry {
    /// Whether the entry kills no token.
    var killsNothing: Bool {
        switch self.kind {
        case .kill, .removed: false
        case .revive, .replaced, .moved, .locked, .unlocked: true
        }
    }

    /// Whether any replica that knows the entry finds out when all replicas have acted on it, and records that.
    var isSeenThrough: Bool { self.kind == .kill || self.kind == .locked }

    /// Whether the entry begins or ends a lock.
    var concernsLock: Bool { self.kind == .locked || self.kind == .unlocked }

    /// An entry that fills the number `epoch` where the entry is lost and is known only to have reported imports, which
    /// a snapshot leaves out. The filler reports no import, and every process writes the same one.
    static func filler(at epoch: Epoch) -> KillEntry {
        KillEntry(
            .replaced,
            .all,
            id: KillID(rawValue: "\(Self.fillerPrefix)\(epoch)"),
            at: WallTime(millisecondsSince1970: 0)
        )
    }

    private static let fillerPrefix = "filler-"
    var isFiller: Bool { self.kind == .replaced && self.id.rawValue.hasPrefix(Self.fillerPrefix) }

    /// Whether a snapshot keeps the entry. A snapshot keeps imports by account, not as entries. An entry that replaces
    /// a revival that was not restored has no imports, and is kept because it is looked up by its ID.
    var outlivesFolding: Bool { self.kind != .replaced || self.replacements.isEmpty && !self.isFiller }

    /// Whether the two are the same entry, or one of them fills the place of the other.
    package func standsFor(_ other: KillEntry) -> Bool {
        self.id == other.id
            || self.kind == .replaced && other.kind == .replaced && (self.isFiller || other.isFiller)
    }

    /// The most imports that one entry reports.
    static let mostReplacements = 1_000
}

extension KillEpochs {
    /// Applies the entry that follows the last one.
    package mutating func fold(_ numbered: NumberedKillEntry) {
        let (epoch, entry) = (numbered.epoch, numbered.entry)
        switch entry.kind {
        case .kill: self.raise(entry.scope, at: epoch, holds: true, streams: entry.streams)
        case .removed: self.raise(entry.scope, at: epoch, holds: false)
        case .revive: self.lift(entry.scope, at: epoch)
        case .replaced, .moved, .locked, .unlocked: self.skip(epoch)
        }
    }
}

extension KillEntry {
    private static let format: UInt8 = 1
    /// The format of an entry with several imports. An entry with one import keeps the older format, so that earlier
    /// versions can read it.
    private static let formatOfSeveral: UInt8 = 2
    /// The format of a move. Format 3 is that of a snapshot. Versions that do not know it stop, as they should.
    private static let formatOfMove: UInt8 = 4
    /// The format of a lock and of its end. Versions that do not know it stop, as they should.
    private static let formatOfLock: UInt8 = 5

    /// The entry as bytes to seal.
    package func encoded() -> Secret {
        let more = self.replacements.dropFirst()
        let format =
            if self.concernsLock {
                Self.formatOfLock
            } else if self.destination != nil {
                Self.formatOfMove
            } else {
                more.isEmpty ? Self.format : Self.formatOfSeveral
            }
        let writer = FieldWriter(format: format)
        writer.write(self.kind.rawValue)
        self.scope.write(to: writer)
        writer.write(self.replacements.first?.grant) { writer.write($0.rawValue) }
        writer.write(self.id.rawValue)
        writer.write(self.reason)
        writer.write(self.streams.rawValue)
        writer.write(self.at.millisecondsSince1970)
        if let destination { writer.write(destination.rawValue) }
        if self.concernsLock { writer.write(self.requester) { writer.write($0) } }
        if !more.isEmpty {
            writer.write(Array(more)) { replacement in
                writer.write(replacement.account.rawValue)
                writer.write(replacement.grant.rawValue)
            }
        }
        return writer.finish()
    }

    /// Reads what ``encoded()`` wrote.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for any other bytes.
    package init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: Self.format...Self.formatOfLock)
        guard let kind = Kind(rawValue: try reader.read()) else { throw FieldReader.malformed("an unknown kind") }
        let scope = try KillScope(from: &reader)
        let grant = try reader.readOptional { reader throws(StoreError) in GrantID(rawValue: try reader.read()) }
        let id = KillID(rawValue: try reader.read())
        let reason: String = try reader.read()
        guard let streams = KillStreams(rawValue: try reader.read()) else {
            throw FieldReader.malformed("an unknown way with streams")
        }
        let at = WallTime(millisecondsSince1970: try reader.read())
        var replacements: [Replacement] = []
        if case .account(let account) = scope, let grant {
            replacements.append(Replacement(account: account, grant: grant))
        }
        if reader.format == Self.formatOfSeveral {
            replacements += try reader.readArray { reader throws(StoreError) in
                Replacement(
                    account: AccountID(rawValue: try reader.read()),
                    grant: GrantID(rawValue: try reader.read())
                )
            }
        }
        let destination =
            reader.format == Self.formatOfMove ? PlaceID(rawValue: try reader.read()) : nil
        guard (kind == .moved) == (destination != nil) else { throw FieldReader.malformed("a move to nowhere") }
        var requester: String?
        if reader.format == Self.formatOfLock {
            requester = try reader.readOptional { reader throws(StoreError) in try reader.read() }
        }
        try reader.finish()
        self.init(
            kind,
            scope,
            replacements: replacements,
            destination: destination,
            id: id,
            requester: requester,
            reason: reason,
            streams: streams,
            at: at
        )
        guard self.concernsLock == (reader.format == Self.formatOfLock) else {
            throw FieldReader.malformed("a lock in the format of another entry, or the other way round")
        }
    }
}

extension KillScope {
    fileprivate func write(to writer: FieldWriter) {
        switch self {
        case .all:
            writer.write(0 as UInt8)
        case .provider(let provider):
            writer.write(1 as UInt8)
            writer.write(provider.rawValue)
        case .account(let account):
            writer.write(2 as UInt8)
            writer.write(account.rawValue)
        }
    }

    fileprivate init(from reader: inout FieldReader) throws(StoreError) {
        switch try reader.read(UInt8.self) {
        case 0: self = .all
        case 1: self = .provider(ProviderID(rawValue: try reader.read()))
        case 2: self = .account(AccountID(rawValue: try reader.read()))
        default: throw FieldReader.malformed("an unknown scope")
        }
    }
}

extension KillScope {
    /// For log messages and people.
    package var text: String {
        switch self {
        case .all: "everything"
        case .provider(let provider): "provider \(provider)"
        case .account(let account): "account \(account)"
        }
    }

    /// The kind of scope with its article, without a name.
    package var kind: String {
        switch self {
        case .all: "anything"
        case .provider: "a provider"
        case .account: "an account"
        }
    }
}
