internal import Audit
internal import KillSwitch
internal import TokenModel
internal import TokenRefresh

/// The operations on the lock, and on accounts that need an approval.
extension AdminController {
    /// The status of the lock; `nil` if the gateway is open.
    var closedLock: LockStatus? {
        guard let status = self.locking?.lockStatus, status.state != .open else { return nil }
        return status
    }

    /// Requires that the gateway is open, unless the request needs nothing of what a lock takes away.
    func requireOpen(for route: AdminRoute) throws(AdminError) {
        guard let status = self.closedLock, !route.worksWhileLocked else { return }
        throw .locked(status)
    }

    func lockStatus() throws(AdminError) -> LockStatus { try self.requireLocking().lockStatus }

    func lock(_ order: LockOrder, by actor: AuditActor) async throws(AdminError) -> LockStatus {
        let locking = try self.requireLocking()
        do throws(LockError) { return try await locking.lock(order, by: actor) } catch { throw AdminError(error) }
    }

    func unlock(_ request: UnlockRequest, by actor: AuditActor) async throws(AdminError) -> LockStatus {
        let locking = try self.requireLocking()
        do throws(LockError) { return try await locking.unlock(request.offered, by: actor) } catch {
            throw AdminError(error)
        }
    }

    /// Takes a kill while the gateway is not open. The audit log gets it when the store does.
    func killWhileLocked(_ request: KillRequest, by actor: AuditActor) async throws(AdminError) -> KillReport {
        let locking = try self.requireLocking()
        do throws(LockError) {
            return try await locking.kill(request.scope, reason: request.reason, streams: request.streams, by: actor)
        } catch {
            throw AdminError(error)
        }
    }

    func approvalStandings() throws(AdminError) -> [ApprovalStanding] { try self.requireApprovals().standings() }

    /// - Returns: the end of the approval.
    func approve(_ account: AccountID, by actor: AuditActor) async throws(AdminError) -> WallTime {
        let approvals = try self.requireApprovals()
        return try await self.audited(.approve, account, by: actor) { () async throws(AdminError) in
            do throws(ApprovalRefusal) { return try await approvals.approve(account, by: actor.memo) } catch {
                throw AdminError(error, account: account)
            }
        } detail: {
            "until \($0.rfc3339)"
        }
    }

    private func requireLocking() throws(AdminError) -> any GatewayLocking {
        guard let locking = self.locking else { throw .noSuchPath }
        return locking
    }

    private func requireApprovals() throws(AdminError) -> any GatewayApprovals {
        guard let approvals = self.approvals else { throw .noSuchPath }
        return approvals
    }
}
