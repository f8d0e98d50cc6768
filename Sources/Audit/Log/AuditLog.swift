internal import Synchronization
internal import TokenModel
package import TokenStorage

/// The audit log of one store. Records are numbered from 1. Each is written once, at the first free number behind the
/// last, never changes, and holds the hash of the record before it.
///
/// All processes that share the store write one chain. A compare-and-set decides who gets a number. A process that
/// loses it reads the record there and tries the next number.
package final class AuditLog: Sendable {
    /// A place in the chain.
    private struct Head {
        var number: UInt64
        var hash: AuditHash
    }

    private let log: NumberedLog
    /// The furthest place in the chain that this process has reached.
    private let known = Mutex<Head?>(nil)
    /// Where to start looking for entries whose append is tried again: other processes may have written behind them
    /// meanwhile.
    private let unsure = Mutex<[AuditID: Head]>([:])

    package init(_ records: SealedRecords) {
        self.log = NumberedLog(records, under: .audit)
    }

    /// Writes `entry` at the end. The record is durable when this returns. A record that a write with a lost response
    /// has put there already is found by its ID.
    ///
    /// - Parameters:
    ///   - tries: how often to ask a store that gives no answer.
    ///   - isTriedAgain: whether this is called with the same entry until it does not throw, perhaps by several
    ///     processes.
    /// - Throws: what the store throws. After ``StoreError/Code/unreachable`` the record may be in the log all the
    ///   same.
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

    /// The record with that ID, if it is among the last thousand.
    private func recent(_ id: AuditID) async throws(StoreError) -> AuditRecord? {
        let last = try await self.lastNumber()
        for item in try await self.items(after: last < 1_000 ? 0 : last - 1_000, limit: 1_000) {
            if case .record(let record) = item, record.id == id.rawValue { return record }
        }
        return nil
    }

    /// Other processes win this many numbers only if reads do not show what was written.
    private static let mostLosses = 1_000

    /// The end of the log, or a place before it.
    private func head() async throws(StoreError) -> Head {
        if let known = self.known.withLock({ $0 }) { return known }
        let last = try await self.lastNumber()
        var head = Head(number: 0, hash: .none)
        if last > 0 {
            // A record is never removed, so one of the two reads was stale. A record without the right hash would break
            // the chain.
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
    /// Up to `limit` items behind the number `after`, in order. Skips missing numbers.
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

    /// The number of the last record; 0 where there is none. Correct even if other records are missing.
    package func lastNumber() async throws(StoreError) -> UInt64 {
        try await self.log.lastNumber(from: self.known.withLock { $0?.number } ?? 0)
    }

    /// The item at `number`; `nil` where there is none.
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
