internal import FoundationEssentials
package import TokenModel
package import TokenStorage

/// One record of the audit log, as it is stored, hashed and shown. It holds text and numbers that mean the same to
/// every version.
///
/// A change has two records: one from before it, without an outcome, and one from after it, which names the first in
/// ``of``.
package struct AuditRecord: Equatable, Sendable, Codable {
    /// From 1, without gaps.
    package let number: UInt64
    /// The hash of the record before.
    package let previous: AuditHash
    package let id: String
    /// RFC 3339, by the clock of the process that wrote it.
    package let time: String
    /// One of ``AuditAction``, or of a later version's actions.
    package let action: String
    /// One of ``AuditActor/Kind``.
    package let actor: String
    /// The name of the admin token. It is stored and hashed as a part of ``from``.
    package internal(set) var name: String?
    /// Where the actor came from, see ``AuditActor/from``.
    package internal(set) var from: String?
    package let replica: String
    package let boot: String?
    package let scope: Scope?
    package let reason: String?
    /// The number of the record that announced the change of this outcome.
    package let of: UInt64?
    package let outcome: String?
    package let detail: String?

    /// The scope of the change. Exactly one member is set.
    package struct Scope: Equatable, Sendable, Codable {
        package let all: Bool?
        package let provider: String?
        package let account: String?

        init(_ scope: KillScope) {
            switch scope {
            case .all: (self.all, self.provider, self.account) = (true, nil, nil)
            case .provider(let name): (self.all, self.provider, self.account) = (nil, name.rawValue, nil)
            case .account(let name): (self.all, self.provider, self.account) = (nil, nil, name.rawValue)
            }
        }
    }

    /// Makes the record of an entry at its place in the chain.
    package init(_ entry: AuditEntry, number: UInt64, behind previous: AuditHash) {
        self.number = number
        self.previous = previous
        self.id = entry.id.rawValue
        self.time = entry.time.rfc3339
        self.action = entry.action.rawValue
        self.actor = entry.actor.kind.rawValue
        self.name = entry.actor.name
        self.from = entry.actor.from.map { Self.bounded($0, 128) }
        self.replica = Self.bounded(entry.replica, 256)
        self.boot = entry.incarnation?.rawValue
        self.scope = entry.scope.map(Scope.init)
        self.reason = entry.reason.map { Self.bounded($0, Self.longestText) }
        self.of = entry.outcome?.begin
        self.outcome = entry.outcome.map { Self.bounded($0.word, 64) }
        self.detail = entry.detail.map { Self.bounded($0, Self.longestDetail) }
    }

    /// The longest reason, in bytes.
    package static let longestText = 1_024
    /// The longest detail, in bytes: the names of all accounts of a bulk import's batch, 256 of up to 128 bytes, have room.
    package static let longestDetail = 36 << 10

    /// `text`, cut to at most `longest` bytes.
    private static func bounded(_ text: String, _ longest: Int) -> String {
        guard text.utf8.count > longest else { return text }
        var kept = ""
        var count = 0
        for scalar in text.unicodeScalars {
            count += UTF8.width(scalar)
            guard count <= longest - 3 else { break }
            kept.unicodeScalars.append(scalar)
        }
        return kept + "…"
    }
}

extension AuditRecord {
    private static let format: UInt8 = 1

    /// The record as bytes to seal. They hold the text that is hashed.
    package func encoded() -> Secret {
        let writer = FieldWriter(format: Self.format)
        writer.write(String(decoding: self.canonical, as: UTF8.self))
        return writer.finish()
    }

    /// Reads what ``encoded()`` wrote.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for any other bytes.
    package init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: Self.format...Self.format)
        let text: String = try reader.read()
        try reader.finish()
        guard var record = try? JSONDecoder().decode(AuditRecord.self, from: Data(text.utf8)),
            record.canonical.elementsEqual(text.utf8)
        else { throw FieldReader.malformed("text that is no record of this version's") }
        if record.actor == AuditActor.Kind.admin.rawValue {
            (record.name, record.from) = AuditActor.parts(ofMemo: record.from)
        }
        self = record
    }
}
