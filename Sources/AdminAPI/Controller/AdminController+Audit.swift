internal import Audit
internal import KillSwitch
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// What operators do is recorded: that they are about to, before it has an effect, and what came of it.
extension AdminController {
    /// Makes a change of something that is there.
    ///
    /// - Parameters:
    ///   - announcement: what is to be said beforehand of what it is about, where no scope says it.
    ///   - outcome: what it has come to, in one word, where not every end without an error is a success.
    ///   - detail: what is to be said of that besides.
    /// - Throws: ``AdminError/Code/auditUnavailable`` where it can't be recorded, and so was not made; what `change` throws.
    func audited<Result>(
        _ action: AuditAction,
        of scope: KillScope? = nil,
        reason: String? = nil,
        saying announcement: String? = nil,
        by actor: AuditActor,
        _ change: () async throws(AdminError) -> Result,
        outcome: (Result) -> String = { _ in "done" },
        detail: (Result) -> String? = { _ in nil }
    ) async throws(AdminError) -> Result {
        guard let audit = self.audit else { throw .noSuchPath }
        let ticket: AuditTicket
        do throws(AuditError) {
            ticket = try await audit.begin(action, of: scope, reason: reason, detail: announcement, by: actor)
        } catch {
            throw AdminError(error)
        }
        do throws(AdminError) {
            let result = try await change()
            await audit.end(ticket, outcome(result), detail: detail(result))
            return result
        } catch {
            await audit.end(ticket, error.code.rawValue)
            throw error
        }
    }

    /// Changes an account.
    ///
    /// - Throws: ``AdminError/Code/notFound`` for a name that nobody knows: it may be a token that was pasted in the wrong
    ///   place, and the log is for good.
    func audited<Result>(
        _ action: AuditAction,
        _ account: AccountID,
        by actor: AuditActor,
        _ change: () async throws(AdminError) -> Result,
        outcome: (Result) -> String = { _ in "done" },
        detail: (Result) -> String? = { _ in nil }
    ) async throws(AdminError) -> Result {
        guard await self.engine.status(of: account) != nil else {
            // To take something away from an account it need not be configured.
            let error = action == .remove ? AdminError.noSuchAccount : .notConfigured
            throw error.suggesting(await self.name(like: account))
        }
        return try await self.audited(
            action,
            of: .account(account),
            by: actor,
            change,
            outcome: outcome,
            detail: detail
        )
    }

    /// Makes a change that neither waits for its record nor is kept from happening without one.
    ///
    /// - Returns: its result, and whether it is recorded.
    func auditedRegardless(
        _ action: AuditAction,
        _ scope: KillScope,
        _ reason: String,
        by actor: AuditActor,
        _ change: () async throws(AdminError) -> KillReport
    ) async throws(AdminError) -> (report: KillReport, isAudited: Bool) {
        guard let audit = self.audit else { throw .noSuchPath }
        async let begun = audit.beginRegardless(action, of: scope, reason: reason, by: actor)
        do throws(AdminError) {
            let report = try await change()
            let ticket = await begun
            // One that was kept is recorded when it stands: another try would only keep the operator waiting.
            guard ticket.isWritten || !report.wasKept && report.epoch > .start else { return (report, false) }
            let detail = "kill \(report.id), epoch \(report.epoch)"
            let hasEnd = await audit.end(ticket, report.state.rawValue, detail: detail)
            return (report, ticket.isWritten || hasEnd)
        } catch {
            let ticket = await begun
            if ticket.isWritten { await audit.end(ticket, error.code.rawValue) }
            throw error
        }
    }

    /// Records kills that were kept while the store was away, when they stand there; until its task is cancelled.
    func recordKeptKills() async {
        guard let audit = self.audit else { return }
        await withDiscardingTaskGroup { tasks in
            for await kill in self.kills.keptKills {
                // One that can't be recorded holds up no other.
                tasks.addTask { await self.record(kill, in: audit) }
            }
        }
    }

    private func record(_ kill: KeptKill, in audit: AuditTrail) async {
        let detail =
            "kill \(kill.id), epoch \(kill.epoch): it was kept since \(kill.requestedAt.rfc3339), as the store did not take it"
        let actor: AuditActor = kill.isOwn ? .admin(rememberedBy: kill.requester) : .gateway("state_dir")
        let entry = audit.entry(ofKept: kill.id, of: kill.scope, reason: kill.reason, detail: detail, by: actor)
        while await !audit.record(keptKill: entry) {
            // The store may be away again.
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
        }
        await self.kills.recorded(kill)
    }

    /// What was recorded.
    func auditPage(_ query: AuditQuery) async throws(AdminError) -> AuditResponse {
        guard let audit = self.audit else { throw .noSuchPath }
        do throws(StoreError) {
            let items = try await audit.log.items(after: query.after, limit: query.limit)
            let last = try await audit.log.lastNumber()
            return AuditResponse(items, last: last)
        } catch {
            throw AdminError(error)
        }
    }
}
