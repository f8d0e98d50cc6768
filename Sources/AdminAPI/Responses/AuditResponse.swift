package import Audit

/// A page of records of the audit log, in order.
package struct AuditResponse: Encodable, Sendable {
    let audit: [Item]
    /// The `after` of a request for the next page; `nil` on the last page.
    let next: UInt64?
    /// The number of the last record of the log.
    let last: UInt64

    /// - Parameter last: the number of the last record of the log.
    package init(_ items: [AuditItem], last: UInt64) {
        self.audit = items.map(Item.init)
        self.last = last
        self.next = items.last.flatMap { $0.number < last ? $0.number : nil }
    }

    private enum Key: String, CodingKey { case audit, next, last }

    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(self.audit, forKey: .audit)
        try members.encode(self.next, forKey: .next)
        try members.encode(self.last, forKey: .last)
    }

    /// A record with its hash. Every member except `name` is always present.
    ///
    /// The hash covers the record without `hash` and `name`, and with the name and an `@` put before `from`. A record
    /// that can't be read has only its number and `unreadable`.
    struct Item: Encodable, Sendable {
        private let item: AuditItem

        init(_ item: AuditItem) {
            self.item = item
        }

        private enum Key: String, CodingKey {
            case action, actor, boot, detail, from, hash, id, name, number, of, outcome, previous, reason, replica,
                scope,
                time
            case unreadable
        }

        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Key.self)
            try members.encode(self.item.number, forKey: .number)
            guard case .record(let record) = self.item else { return try members.encode(true, forKey: .unreadable) }
            try members.encode(record.action, forKey: .action)
            try members.encode(record.actor, forKey: .actor)
            try members.encode(record.boot, forKey: .boot)
            try members.encode(record.detail, forKey: .detail)
            try members.encode(record.from, forKey: .from)
            try members.encode(record.hash.digits, forKey: .hash)
            try members.encode(record.id, forKey: .id)
            try members.encodeIfPresent(record.name, forKey: .name)
            try members.encode(record.of, forKey: .of)
            try members.encode(record.outcome, forKey: .outcome)
            try members.encode(record.previous.digits, forKey: .previous)
            try members.encode(record.reason, forKey: .reason)
            try members.encode(record.replica, forKey: .replica)
            try members.encode(record.scope, forKey: .scope)
            try members.encode(record.time, forKey: .time)
        }
    }
}
