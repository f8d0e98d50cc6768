internal import Synchronization
internal import TokenModel
package import TokenStorage

/// The audit log of one store: records numbered from 1, each written once at the first free number behind the last and
/// never changed, each with the hash of the one before it.
///
/// All processes that share the store write one chain: a number is won by compare-and-set, and who loses it reads what
/// stands there, and tries the next.
package final class AuditLog: Sendable {
    /// A place in the chain.
    private struct Head {
        var number: UInt64
        var hash: AuditHash
    }

    private let log: NumberedLog
    /// The furthest that this process has come.
    private let known = Mutex<Head?>(nil)
    /// From where entries are looked for that are tried again: others may have come behind them meanwhile.
    private let unsure = Mutex<[AuditID: Head]>([:])

    package init(_ records: SealedRecords) {
        self.log = NumberedLog(records, under: .audit)
    }

    /// Writes `entry` at the end; durable when this returns. One that stands already, by a write whose answer was lost, is
    /// found by its id.
    ///
    /// - Parameters:
    ///   - tries: how often a store is asked that gives no answer.
    ///   - isTriedAgain: this is called with the same entry until it does not throw, perhaps by several processes.
    /// - Throws: what the store throws; after ``StoreError/Code/unreachable`` the record may stand all the same.
    package func append(
        _ entry: AuditEntry,
        tries: Int = 2,
        isTriedAgain: Bool = false
    ) async throws(StoreError) -> AuditRecord {
        if isTriedAgain, let record = try await self.recent(entry.id) { return record }
        let start: Head
        if let first = self.unsure.withLock({ $0[entry.id] }) { start = first } else { start = try await self.head() }
        if isTriedAgain { self.unsure.withLock { $0[entry.id] = start } }
        let record = try await self.append(entry, behind: start, tries: tries)
        if isTriedAgain { self.unsure.withLock { $0[entry.id] = nil } }
        return record
    }

    private func append(_ entry: AuditEntry, behind start: Head, tries: Int) async throws(StoreError) -> AuditRecord {
        var head = start
        var (attempts, losses) = (0, 0)
        while true {
            while let item = try await self.item(head.number &+ 1) {
                head = Head(number: item.number, hash: item.hash)
                if case .record(let record) = item, record.id == entry.id.rawValue {
                    self.keep(head)
                    return record
                }
            }
            let record = AuditRecord(entry, number: head.number &+ 1, behind: head.hash)
            do throws(StoreError) {
                guard case .written = try await self.log.place(record.encoded(), at: record.number) else {
                    losses += 1
                    guard losses <= Self.mostLosses else { throw .conflict(nil) }
                    continue
                }
                self.keep(Head(number: record.number, hash: record.hash))
                return record
            } catch {
                attempts += 1
                guard error.code == .unreachable, attempts < tries else { throw error }
            }
        }
    }

    /// The record with that id, if it is among the last thousand.
    private func recent(_ id: AuditID) async throws(StoreError) -> AuditRecord? {
        let last = try await self.lastNumber()
        for item in try await self.items(after: last < 1_000 ? 0 : last - 1_000, limit: 1_000) {
            if case .record(let record) = item, record.id == id.rawValue { return record }
        }
        return nil
    }

    /// Others have won a number so often only where reads do not show what was written.
    private static let mostLosses = 1_000

    /// The end of the log, or a place on the way there.
    private func head() async throws(StoreError) -> Head {
        if let known = self.known.withLock({ $0 }) { return known }
        let last = try await self.lastNumber()
        var head = Head(number: 0, hash: .none)
        if last > 0 {
            // A record is never removed: one read of the two was stale, and what is chained to nothing would break the chain.
            guard let item = try await self.item(last) else {
                throw StoreError(.unreachable, "the store shows the end of the audit log, and then does not")
            }
            head = Head(number: last, hash: item.hash)
        }
        self.keep(head)
        return head
    }

    private func keep(_ head: Head) {
        self.known.withLock { known in
            if head.number >= known?.number ?? 0 { known = head }
        }
    }
}

// MARK: - Reading

extension AuditLog {
    /// Up to `limit` items behind the number `after`, in order; a number that is missing is passed over.
    package func items(after: UInt64, limit: Int) async throws(StoreError) -> [AuditItem] {
        var items: [AuditItem] = []
        var last = after
        while items.count < limit {
            let page = try await self.log.page(behind: last, limit: limit - items.count)
            guard let end = page.last else { return items }
            for item in page { items.append(try self.open(item)) }
            last = end.number
        }
        return items
    }

    /// The number of the last record; 0 where there is none. Right also where others are missing.
    package func lastNumber() async throws(StoreError) -> UInt64 {
        try await self.log.lastNumber(from: self.known.withLock { $0?.number } ?? 0)
    }

    /// What stands at `number`; `nil` for nothing.
    private func item(_ number: UInt64) async throws(StoreError) -> AuditItem? {
        guard let item = try await self.log.item(number) else { return nil }
        return try self.open(item)
    }

    private func open(_ item: NumberedLog.Item) throws(StoreError) -> AuditItem {
        do throws(StoreError) {
            let record = try AuditRecord(decoding: try self.log.open(item))
            return record.number == item.number ? .record(record) : .unreadable(item.number)
        } catch {
            guard error.code == .unreadable else { throw error }
            return .unreadable(item.number)
        }
    }
}
