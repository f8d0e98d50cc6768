internal import AdminAPI
package import Audit
internal import GatewayServer
internal import Logging
internal import TokenStorage

/// Where the records of an audit log are read from.
enum AuditSource {
    /// A running gateway.
    case gateway(AdminClient)
    /// The store itself.
    case store(AuditLog)

    /// Passes the items after number `after` to `body`, page by page.
    ///
    /// - Parameters:
    ///   - count: the maximum number of items; `nil` for all.
    ///   - body: receives a page, and the admin API's text of it.
    func read(
        after: UInt64,
        count: Int? = nil,
        _ body: (AuditReply, _ text: String) throws -> Void
    ) async throws {
        var after = after
        var left = count ?? .max
        while left > 0 {
            var (reply, text) = try await self.page(after: after, limit: min(left, Self.pageLimit))
            // A page consists of two reads. A record may have been written between them; if it doesn't appear now, it
            // is missing.
            if reply.audit.isEmpty, reply.last > after {
                (reply, text) = try await self.page(after: after, limit: min(left, Self.pageLimit))
            }
            try body(reply, text)
            left -= min(left, reply.audit.count)
            guard let next = reply.next, next > after else { return }
            after = next
        }
    }

    /// The number of the last record.
    func last() async throws -> UInt64 {
        switch self {
        case .gateway: try await self.page(after: .max, limit: 1).reply.last
        case .store(let log): try await log.lastNumber()
        }
    }

    private func page(after: UInt64, limit: Int) async throws -> (reply: AuditReply, text: String) {
        switch self {
        case .gateway(let client):
            let answer = try await client.send(.audit(after: after, limit: limit))
            return (try answer.read(AuditReply.self), answer.text)
        case .store(let log):
            let items = try await log.items(after: after, limit: limit)
            let last = try await log.lastNumber()
            let text = try Console.json(AuditResponse(items, last: last))
            return (try AdminReply(httpStatus: 200, body: Array(text.utf8)).read(), text)
        }
    }

    private static let pageLimit = 500
}

/// A page of the audit log, as the admin API shows it.
package struct AuditReply: Decodable, Equatable, Sendable {
    package let audit: [Item]
    /// The `after` value for the next page.
    package let next: UInt64?
    /// The number of the last existing record.
    package let last: UInt64

    /// A record, or the number of a record that can't be opened.
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

extension AuditTrail {
    /// The audit trail of a command that works on a store directly. It logs nothing, because the command prints its own
    /// messages.
    static func command(_ records: SealedRecords) -> AuditTrail {
        AuditTrail(
            records,
            incarnation: nil,
            replica: HostName.text,
            logger: Logger(label: "martlet") { _ in SwiftLogNoOpLogHandler() }
        )
    }
}
