internal import Audit
internal import KillSwitch
internal import TokenModel

/// The operations on the lock. They are there whether the gateway is open or locked.
extension AdminController {
    /// The lock's status; `nil` while the gateway is open.
    var closedLock: LockStatus? {
        guard let status = self.locking?.lockStatus, status.state != .open else { return nil }
        return status
    }

    func lockStatus() throws(AdminError) -> LockStatus { try self.requireLock().lockStatus }

    func lock(_ order: LockOrder, by actor: AuditActor) async throws(AdminError) -> LockStatus {
        let lock = try self.requireLock()
        do throws(LockError) { return try await lock.lock(order, by: actor) } catch { throw AdminError(error) }
    }

    func unlock(_ request: UnlockRequest, by actor: AuditActor) async throws(AdminError) -> LockStatus {
        let lock = try self.requireLock()
        do throws(LockError) { return try await lock.unlock(request.offered, by: actor) } catch {
            throw AdminError(error)
        }
    }

    /// Takes a kill while there is no kill switch. The audit log gets it when the store does.
    func killWhileLocked(_ request: KillRequest, by actor: AuditActor) async throws(AdminError) -> KillReport {
        guard let lock = self.locking else { throw .locked }
        do throws(LockError) {
            return try await lock.kill(request.scope, reason: request.reason, streams: request.streams, by: actor)
        } catch {
            throw AdminError(error)
        }
    }

    private func requireLock() throws(AdminError) -> any GatewayLocking {
        guard let lock = self.locking else { throw .noSuchPath }
        return lock
    }
}
