internal import Audit
internal import KillSwitch
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// Records what operators do: that they are about to do it, before it has an effect, and its outcome.
extension OpenGateway {
    /// Makes a change and records it.
    ///
    /// - Parameters:
    ///   - announcement: a description of what is changed, recorded before the change, if no scope says it.
    ///   - outcome: the outcome in one word, if not every end without an error is a success.
    ///   - detail: more about the outcome.
    /// - Throws: ``AdminError/Code/auditUnavailable`` if the change can't be recorded, and so was not made; the errors
    ///   of `change`.
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
        let ticket: AuditTicket
        do throws(AuditError) {
            ticket = try await self.audit.begin(action, of: scope, reason: reason, detail: announcement, by: actor)
        } catch {
            throw AdminError(error)
        }
        do throws(AdminError) {
            let result = try await change()
            await self.audit.end(ticket, outcome(result), detail: detail(result))
            return result
        } catch {
            await self.audit.end(ticket, error.code.rawValue)
            throw error
        }
    }

    /// Changes an account and records it.
    ///
    /// - Throws: ``AdminError/Code/notFound`` for an unknown name. Such a name is not recorded: it may be a token that
    ///   was pasted into the wrong place, and the log is permanent.
    func audited<Result>(
        _ action: AuditAction,
        _ account: AccountID,
        by actor: AuditActor,
        _ change: () async throws(AdminError) -> Result,
        outcome: (Result) -> String = { _ in "done" },
        detail: (Result) -> String? = { _ in nil }
    ) async throws(AdminError) -> Result {
        guard await self.knows(account, for: action) else {
            // A removal works for an account that is not configured, too.
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

    /// An account of a family need not exist before it gets tokens.
    private func knows(_ account: AccountID, for action: AuditAction) async -> Bool {
        switch action {
        case .importTokens, .beginSignIn: self.engine.isConfigured(account)
        default: await self.engine.status(of: account) != nil
        }
    }

    /// Makes a change that neither waits for its record nor requires one.
    ///
    /// - Returns: the result, and whether it is recorded.
    func auditedRegardless(
        _ action: AuditAction,
        _ scope: KillScope,
        _ reason: String,
        by actor: AuditActor,
        _ change: () async throws(AdminError) -> KillReport
    ) async throws(AdminError) -> (report: KillReport, isAudited: Bool) {
        async let begun = self.audit.beginRegardless(action, of: scope, reason: reason, by: actor)
        do throws(AdminError) {
            let report = try await change()
            let ticket = await begun
            // A kept kill is recorded once it is in the store: another attempt now would only keep the operator
            // waiting.
            guard ticket.isWritten || !report.wasKept && report.epoch > .start else { return (report, false) }
            let detail = "kill \(report.id), epoch \(report.epoch)"
            let hasEnd = await self.audit.end(ticket, report.state.rawValue, detail: detail)
            return (report, ticket.isWritten || hasEnd)
        } catch {
            let ticket = await begun
            if ticket.isWritten { await self.audit.end(ticket, error.code.rawValue) }
            throw error
        }
    }

    /// Records kills that were kept while the store could not be reached, once they are in the store. Returns when its
    /// task is cancelled.
    package func recordKeptKills() async {
        await withDiscardingTaskGroup { tasks in
            for await kill in self.kills.keptKills {
                // A kill that can't be recorded does not delay the others.
                tasks.addTask { await self.record(kill) }
            }
        }
    }

    private func record(_ kill: KeptKill) async {
        let detail =
            "kill \(kill.id), epoch \(kill.epoch): it was kept since \(kill.requestedAt.rfc3339), as the store did not take it"
        let actor: AuditActor = kill.isOwn ? .admin(rememberedBy: kill.requester) : .gateway("state_dir")
        let entry = self.audit.entry(ofKept: kill.id, of: kill.scope, reason: kill.reason, detail: detail, by: actor)
        while await !self.audit.record(keptKill: entry) {
            // The store may be out of reach again.
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
        }
        await self.kills.recorded(kill)
    }

    /// The requested page of the audit log.
    func auditPage(_ query: AuditQuery) async throws(AdminError) -> AuditResponse {
        do throws(StoreError) {
            let items = try await self.audit.log.items(after: query.after, limit: query.limit)
            let last = try await self.audit.log.lastNumber()
            return AuditResponse(items, last: last)
        } catch {
            throw AdminError(error)
        }
    }
}
