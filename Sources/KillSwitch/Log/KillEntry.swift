package import TokenModel
package import TokenStorage

/// One entry of the kill log.
package struct KillEntry: Equatable, Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        /// The scope's tokens are dead, and nothing new may come.
        case kill
        /// New tokens of the scope may come. Names the scope of the kill that it lifts.
        case revive
        /// Accounts have other tokens by imports; the old ones are dropped, not revoked.
        case replaced
        /// An account's tokens are dead; new ones may come.
        case removed
    }

    /// An import into an account that may have had tokens before.
    package struct Replacement: Equatable, Sendable {
        package let account: AccountID
        /// Of what was put in place.
        package let grant: GrantID

        package init(account: AccountID, grant: GrantID) {
            self.account = account
            self.grant = grant
        }
    }

    package let kind: Kind
    /// Of imports the first one's account.
    package let scope: KillScope
    /// The imports that it tells of.
    package let replacements: [Replacement]
    package let id: KillID
    /// For people: why. Never a token.
    package let reason: String
    package let streams: KillStreams
    package let at: WallTime

    package init(
        _ kind: Kind,
        _ scope: KillScope,
        replacements: [Replacement] = [],
        id: KillID = .random(),
        reason: String = "",
        streams: KillStreams = .abort,
        at: WallTime
    ) {
        self.kind = kind
        // As which the first is written.
        self.scope = replacements.first.map { .account($0.account) } ?? scope
        self.replacements = replacements
        self.id = id
        self.reason = reason
        self.streams = streams
        self.at = at
    }
}

extension KillEntry {
    /// No token is dead by it.
    var killsNothing: Bool {
        switch self.kind {
        case .kill, .removed: false
        case .revive, .replaced: true
        }
    }

    /// Fills the number `epoch` where the entry is lost and nobody knows more of it than that it told of imports: a
    /// snapshot leaves those out. It tells of none, and is the same whoever writes it.
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

    /// Whether a snapshot keeps it: what tells of imports it keeps by account. What stands for a revival that was not restored
    /// tells of none, and is looked for by its id.
    var outlivesFolding: Bool { self.kind != .replaced || self.replacements.isEmpty && !self.isFiller }

    /// Whether it is `other`, or one of the two fills the place of the other.
    package func standsFor(_ other: KillEntry) -> Bool {
        self.id == other.id
            || self.kind == .replaced && other.kind == .replaced && (self.isFiller || other.isFiller)
    }

    /// How many imports one entry tells of at most.
    static let mostReplacements = 1_000
}

extension KillEpochs {
    /// Takes up an entry behind the last.
    package mutating func fold(_ numbered: NumberedKillEntry) {
        let (epoch, entry) = (numbered.epoch, numbered.entry)
        switch entry.kind {
        case .kill: self.raise(entry.scope, at: epoch, holds: true, streams: entry.streams)
        case .removed: self.raise(entry.scope, at: epoch, holds: false)
        case .revive: self.lift(entry.scope, at: epoch)
        case .replaced: self.skip(epoch)
        }
    }
}

extension KillEntry {
    private static let format: UInt8 = 1
    /// Tells of several imports. What tells of one stays readable for earlier versions.
    private static let formatOfSeveral: UInt8 = 2

    /// The entry as bytes to seal.
    package func encoded() -> Secret {
        let more = self.replacements.dropFirst()
        let writer = FieldWriter(format: more.isEmpty ? Self.format : Self.formatOfSeveral)
        writer.write(self.kind.rawValue)
        self.scope.write(to: writer)
        writer.write(self.replacements.first?.grant) { writer.write($0.rawValue) }
        writer.write(self.id.rawValue)
        writer.write(self.reason)
        writer.write(self.streams.rawValue)
        writer.write(self.at.millisecondsSince1970)
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
        var reader = try FieldReader(bytes, formats: Self.format...Self.formatOfSeveral)
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
        try reader.finish()
        self.init(kind, scope, replacements: replacements, id: id, reason: reason, streams: streams, at: at)
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
    /// For logs and people.
    package var text: String {
        switch self {
        case .all: "everything"
        case .provider(let provider): "provider \(provider)"
        case .account(let account): "account \(account)"
        }
    }

    /// With its article; the name is not repeated.
    package var kind: String {
        switch self {
        case .all: "anything"
        case .provider: "a provider"
        case .account: "an account"
        }
    }
}
