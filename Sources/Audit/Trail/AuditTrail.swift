package import Logging
internal import Synchronization
package import TokenModel
package import TokenStorage

/// Records what operators do through one process: each change before it takes effect, and again when it has ended.
///
/// Each record also goes to the program's log, with its hash. So every destination of that log has a copy of the
/// chain's ends.
package final class AuditTrail: Sendable {
    package let log: AuditLog
    private let incarnation: IncarnationID?
    private let replica: String
    private let timepiece: Timepiece
    private let logger: Logger
    private let refusals = Mutex(RefusalCounter())
    private let bell: AsyncStream<Void>
    private let ring: AsyncStream<Void>.Continuation
    private let end: AsyncStream<Void>
    private let ending: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - incarnation: of a gateway; `nil` for a command.
    ///   - replica: the process's name among those that share the store.
    package init(
        _ records: SealedRecords,
        incarnation: IncarnationID?,
        replica: String,
        timepiece: Timepiece = .system,
        logger: Logger
    ) {
        self.log = AuditLog(records)
        self.incarnation = incarnation
        self.replica = replica
        self.timepiece = timepiece
        self.logger = logger
        (self.bell, self.ring) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (self.end, self.ending) = AsyncStream.makeStream()
    }

    /// Announces a change. The change may take effect when this returns, and must not when it throws.
    package func begin(
        _ action: AuditAction,
        of scope: KillScope? = nil,
        reason: String? = nil,
        detail: String? = nil,
        by actor: AuditActor
    ) async throws(AuditError) -> AuditTicket {
        do throws(StoreError) {
            let entry = self.entry(action, by: actor, of: scope, reason: reason, detail: detail)
            let number = try await self.write(entry)
            return AuditTicket(number: number, action: action, actor: actor, scope: scope, reason: nil)
        } catch {
            self.logger.error(
                "a change was refused: the audit log can't be written",
                metadata: ["audit.action": "\(action.rawValue)", "error.code": "\(error.code.rawValue)"]
            )
            throw AuditError(error)
        }
    }

    /// Announces a change that must neither wait for the record nor fail without it. Logs an error where it can't be
    /// recorded.
    package func beginRegardless(
        _ action: AuditAction,
        of scope: KillScope,
        reason: String,
        by actor: AuditActor
    ) async -> AuditTicket {
        do throws(StoreError) {
            let number = try await self.write(self.entry(action, by: actor, of: scope, reason: reason), tries: 1)
            return AuditTicket(number: number, action: action, actor: actor, scope: scope, reason: nil)
        } catch {
            self.logger.error(
                "a kill goes ahead without a record in the audit log, which can't be written",
                metadata: [
                    "audit.action": "\(action.rawValue)", "audit.actor": "\(actor.memo ?? actor.kind.rawValue)",
                    "error.code": "\(error.code.rawValue)",
                ]
            )
            return AuditTicket(number: nil, action: action, actor: actor, scope: scope, reason: reason)
        }
    }

    /// Records the outcome of a change.
    ///
    /// - Parameters:
    ///   - outcome: one word: `done`, or why not.
    ///   - detail: a few words more, no secret.
    /// - Returns: whether the record is in the log.
    @discardableResult
    package func end(_ ticket: AuditTicket, _ outcome: String, detail: String? = nil) async -> Bool {
        let entry = self.entry(
            ticket.action,
            by: ticket.actor,
            of: ticket.scope,
            reason: ticket.reason,
            outcome: AuditOutcome(of: ticket.number, outcome),
            detail: detail
        )
        do throws(StoreError) {
            _ = try await self.write(entry)
            return true
        } catch {
            var facts: Logger.Metadata = [
                "audit.action": "\(ticket.action.rawValue)", "audit.outcome": "\(outcome)",
                "error.code": "\(error.code.rawValue)",
            ]
            // The number of the announcing record, if there is one.
            if let number = ticket.number { facts["audit.number"] = .stringConvertible(number) }
            self.logger.error(
                "the outcome of a change could not be written to the audit log",
                metadata: facts
            )
            return false
        }
    }

    /// The entry for ``record(keptKill:)`` about a kill that went ahead without a record and is in the store by now.
    /// Its ID is the kill's, so that processes that record the same kill find each other's record.
    ///
    /// - Parameter detail: what is known of the kill, and that the record is late.
    package func entry(
        ofKept kill: KillID,
        of scope: KillScope,
        reason: String,
        detail: String,
        by actor: AuditActor
    ) -> AuditEntry {
        self.entry(
            .kill,
            id: AuditID(rawValue: kill.rawValue),
            by: actor,
            of: scope,
            reason: reason,
            outcome: AuditOutcome(of: nil, "stands"),
            detail: detail
        )
    }

    /// Records a kept kill. Try again with the same entry until it is in the log: a record whose write had a lost
    /// response is then found.
    ///
    /// - Returns: whether the record is in the log. If not, an earlier log entry has said so already.
    package func record(keptKill entry: AuditEntry) async -> Bool {
        do throws(StoreError) {
            _ = try await self.write(entry, isTriedAgain: true)
            return true
        } catch {
            self.logger.debug(
                "a kill that was kept is not in the audit log yet",
                metadata: ["error.code": "\(error.code.rawValue)"]
            )
            return false
        }
    }

    private func entry(
        _ action: AuditAction,
        id: AuditID = .random(),
        by actor: AuditActor,
        of scope: KillScope? = nil,
        reason: String? = nil,
        outcome: AuditOutcome? = nil,
        detail: String? = nil
    ) -> AuditEntry {
        AuditEntry(
            action,
            id: id,
            by: actor,
            in: self.replica,
            incarnation: self.incarnation,
            of: scope,
            reason: reason,
            outcome: outcome,
            detail: detail,
            at: self.timepiece.now.wall
        )
    }

    private func write(
        _ entry: AuditEntry,
        tries: Int = 2,
        isTriedAgain: Bool = false
    ) async throws(StoreError) -> UInt64 {
        let record = try await self.log.append(entry, tries: tries, isTriedAgain: isTriedAgain)
        self.logger.notice(
            "a change was put into the audit log",
            metadata: [
                "audit.number": .stringConvertible(record.number), "audit.action": "\(record.action)",
                "audit.actor": "\(entry.actor.memo ?? record.actor)", "audit.outcome": "\(record.outcome ?? "-")",
                "audit.hash": "\(record.hash)",
            ]
        )
        return record.number
    }
}

// MARK: - Wrong admin tokens

extension AuditTrail {
    /// Counts a refused request with a wrong admin token. Many refusals become one record.
    package func refusedToken(from address: String?) {
        self.refusals.withLock { $0.refused(from: address, at: self.timepiece.now.boot) }
        self.ring.yield()
    }

    /// Records refusals from time to time, until ``stop()``.
    package func run() async {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask {
                for await _ in self.bell { await self.recordRefusals() }
            }
            for await _ in self.end {}
            tasks.cancelAll()
        }
        // Records the refusals that were not due yet. An unreachable store does not delay the end for long.
        if let summary = self.refusals.withLock({ $0.takeAll() }) { await self.record(summary, tries: 1) }
    }

    /// Ends ``run()``.
    package func stop() {
        self.ring.finish()
        self.ending.finish()
    }

    /// Records refusals until none is waiting.
    private func recordRefusals() async {
        while !Task.isCancelled, let due = self.refusals.withLock({ $0.due }) {
            await self.timepiece.rest(until: due)
            guard !Task.isCancelled else { return }
            let now = self.timepiece.now.boot
            if let summary = self.refusals.withLock({ $0.take(at: now) }) { await self.record(summary) }
        }
    }

    private func record(_ summary: RefusalCounter.Summary, tries: Int = 2) async {
        let count = "\(summary.count) \(summary.count == 1 ? "request" : "requests")"
        let entry = self.entry(
            .refusedTokens,
            by: .stranger(at: summary.last),
            outcome: AuditOutcome(of: nil, "refused"),
            detail: "\(count) with a wrong admin token; the address is the last one's"
        )
        do throws(StoreError) {
            _ = try await self.write(entry, tries: tries)
        } catch {
            self.refusals.withLock { $0.putBack(summary) }
            self.logger.debug(
                "wrong admin tokens are not in the audit log yet",
                metadata: ["error.code": "\(error.code.rawValue)"]
            )
        }
    }
}

/// Why nothing could be recorded. Two errors are equal when their codes are equal.
package struct AuditError: Error, Sendable {
    /// What went wrong, for programs.
    package enum Code: String, Sendable {
        /// The audit log is in the token store, which can't be reached or written.
        case unavailable = "audit_unavailable"
    }

    package let code: Code
    /// For the operator: what failed, on what, and what would help.
    package let message: String

    /// Nothing was changed, because the change could not be recorded.
    package init(_ cause: StoreError) {
        self.code = .unavailable
        self.message = "nothing was changed, because it could not be put into the audit log: \(cause.message)"
    }
}

extension AuditError: Equatable {
    package static func == (left: AuditError, right: AuditError) -> Bool { left.code == right.code }
}

/// A change whose announcement was recorded or at least tried. Its outcome is recorded with this.
package struct AuditTicket: Equatable, Sendable {
    /// The number of the record that announces the change; `nil` where that could not be written.
    package let number: UInt64?
    let action: AuditAction
    let actor: AuditActor
    let scope: KillScope?
    /// Present only where no other record holds it.
    let reason: String?

    /// Whether the announcement is in the log.
    package var isWritten: Bool { self.number != nil }
}
