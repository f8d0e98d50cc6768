package import Audit

/// Some records of the audit log, as the admin API shows them.
package struct AuditReply: Decodable, Equatable, Sendable {
    package let audit: [Item]
    /// What `after` asks for those behind these.
    package let next: UInt64?
    /// The number of the last there is.
    package let last: UInt64

    /// A record, or the number of one that does not open.
    package struct Item: Decodable, Equatable, Sendable {
        package let item: AuditItem

        package init(from decoder: any Decoder) throws {
            let place = try Place(from: decoder)
            self.item = place.unreadable == true ? .unreadable(place.number) : .record(try AuditRecord(from: decoder))
        }

        private struct Place: Decodable {
            let number: UInt64
            let unreadable: Bool?
        }
    }
}
