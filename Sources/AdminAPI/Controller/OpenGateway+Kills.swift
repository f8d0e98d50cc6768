internal import Audit
internal import KillSwitch
internal import TokenModel
internal import TokenRefresh

/// The operations on the kill switch.
extension OpenGateway {
    /// Kills without waiting for the audit record, even if the kill can't be recorded.
    func kill(
        _ request: KillRequest,
        by actor: AuditActor
    ) async throws(AdminError) -> (report: KillReport, isAudited: Bool) {
        try await self.check(request.scope)
        return try await self.auditedRegardless(.kill, request.scope, request.reason, by: actor) {
            () async throws(AdminError) in
            do throws(KillSwitchError) {
                return try await self.kills.kill(
                    request.scope,
                    reason: request.reason,
                    streams: request.streams,
                    wait: request.wait,
                    by: actor.memo
                )
            } catch {
                throw AdminError(error)
            }
        }
    }

    /// - Returns: the lifted kills, and what is still killed.
    func revive(_ request: RevivalRequest, by actor: AuditActor) async throws(AdminError) -> RevivalResponse {
        // The killed scope may have been removed from the configuration since.
        if !self.kills.killedScopes.contains(request.scope) { try await self.check(request.scope) }
        let revival = try await self.audited(.revive, of: request.scope, reason: request.reason, by: actor) {
            () async throws(AdminError) in
            do throws(KillSwitchError) {
                return try await self.kills.revive(request.scope, reason: request.reason)
            } catch {
                throw await self.refusal(ofReviving: request.scope, error)
            }
        } detail: {
            "epoch \($0.epoch)"
        }
        return RevivalResponse(request.scope, revival, killed: self.kills.killedScopes)
    }

    func killReport(_ id: KillID) async throws(AdminError) -> KillReport {
        do throws(KillSwitchError) { return try await self.kills.report(on: id) } catch { throw AdminError(error) }
    }

    func killedTokens(_ id: KillID, _ query: KilledTokensQuery) async throws(AdminError) -> KilledTokensResponse {
        do throws(KillSwitchError) {
            let page = try await self.kills.revocations(of: id, after: query.after, limit: query.limit)
            return KilledTokensResponse(page.records, next: page.next)
        } catch {
            throw AdminError(error)
        }
    }

    func replicas() async throws(AdminError) -> ReplicaVault.Listing {
        do throws(KillSwitchError) { return try await self.kills.replicaListing() } catch { throw AdminError(error) }
    }

    /// Forgets a replica. The record has the replica's listed name, whatever name was requested. A request for an
    /// unknown replica is not recorded.
    func forgetReplica(_ name: String, by actor: AuditActor) async throws(AdminError) -> ReplicaExpulsion {
        let replica: KillSwitch.KnownReplica
        do throws(KillSwitchError) { replica = try await self.kills.replica(called: name) } catch {
            throw AdminError(error)
        }
        let detail = "replica \(replica.name), boot \(replica.incarnation)"
        return try await self.audited(.forgetReplica, saying: detail, by: actor) { () async throws(AdminError) in
            do throws(KillSwitchError) { return try await self.kills.forget(replica) } catch { throw AdminError(error) }
        } detail: {
            $0.until.map { "it goes at \($0.rfc3339)" } ?? "it has gone"
        }
    }

    /// The error for a revival that was not done. If `scope` is killed only as a part of wider scopes, the error says
    /// what lifts those.
    private func refusal(ofReviving scope: KillScope, _ cause: KillSwitchError) async -> AdminError {
        guard cause.code == .notKilled else { return AdminError(cause) }
        var wider: [KillScope] = []
        if case .account(let account) = scope, let status = await self.engine.status(of: account) {
            wider.append(.provider(status.provider))
        }
        if scope != .all { wider.append(.all) }
        let killed = self.kills.killedScopes
        wider.removeAll { !killed.contains($0) }
        return wider.isEmpty ? AdminError(cause) : AdminError.killedByWider(wider, than: scope)
    }

    /// Requires that the scope exists: a typing error must not look like a kill.
    private func check(_ scope: KillScope) async throws(AdminError) {
        switch scope {
        case .all: return
        case .account(let account):
            // A configured account needs no reading of the store: a kill must not wait for anything.
            guard await self.engine.mayKnow(account) else {
                throw AdminError.nothingToKill(scope).suggesting(await self.name(like: account))
            }
        case .provider(let provider):
            guard await self.engine.mayKnow(provider) else {
                throw AdminError.nothingToKill(scope).suggesting(self.name(like: provider))
            }
        }
    }
}
