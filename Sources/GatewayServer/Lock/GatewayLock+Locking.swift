internal import AdminAPI
internal import Audit
internal import KillSwitch
internal import Logging
internal import Proxy
internal import Synchronization
internal import SystemSupport
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

extension GatewayLock {
    func lock(_ order: LockOrder, by actor: AuditActor) async throws(LockError) -> LockStatus {
        let note = LockNote(
            reason: order.reason,
            requester: actor.memo,
            at: Timepiece.system.now.wall,
            isForAllReplicas: order.isForAllReplicas
        )
        if order.isNow { self.state.withLock { $0.isNow = true } }
        guard let part = self.beginLocking(note) else { return try await self.lockAgain(note, order) }
        async let isKept = self.keep(note, beside: part)
        async let ticket = try? part.audit.begin(
            .lock,
            reason: order.reason,
            detail: order.words,
            by: actor
        )
        await self.stopInjecting()
        var failure: LockError?
        do throws(KillSwitchError) {
            if order.isForAllReplicas {
                let report = try await part.kills.orderLock(reason: order.reason, wait: Self.patience, by: actor.memo)
                self.state.withLock { $0.status.otherReplicas = report.replicas.filter { $0.name != self.front.name } }
            }
        } catch {
            failure = LockError(
                .storeUnreachable,
                "this replica is locked, and the others could not be told (\(error.message)); lock each of them"
            )
        }
        let isKeptNow = await isKept
        self.state.withLock { $0.status.isKept = isKeptNow }
        let open = part.engine.exposedAccounts
        if let ticket = await ticket {
            await part.audit.end(
                ticket,
                failure?.code.rawValue ?? "done",
                detail: "\(open.count) token requests are open"
            )
        } else {
            await self.add(AuditNote(action: .lock, outcome: "done", detail: "reason: \(order.reason)", by: actor))
        }
        self.newOrders.yield(.takeAway(part))
        await self.settle(within: order.isNow ? Self.longestCut : Self.patience)
        if let failure { throw failure }
        return self.lockStatus
    }

    /// How long the response to an order waits for its end. Open token requests take as long as the provider does.
    private static let patience = Duration.seconds(1)
    /// How long closing providers' connections takes at most.
    private static let longestCut = Duration.seconds(20)

    /// A lock of a gateway that is not open. It stays locked, also where it lacked only its key.
    private func lockAgain(_ note: LockNote, _ order: LockOrder) async throws(LockError) -> LockStatus {
        guard !order.isForAllReplicas else {
            throw LockError(
                .alreadyLocked,
                "this replica is locked and can't reach the store: lock all replicas from one that runs"
            )
        }
        let isNew = self.state.withLock { state in
            if state.status.state == .unlocking { state.isInterrupted = true }
            guard state.note == nil else { return false }
            state.note = note
            (state.status.reason, state.status.by) = (note.reason, note.requester)
            return true
        }
        if isNew {
            let isKept = await self.keep(note)
            self.state.withLock { $0.status.isKept = isKept }
        }
        await self.settle(within: Self.longestCut)
        return self.lockStatus
    }

    /// Obeys a lock of all replicas that was read in the kill log. The fence has stopped the event loops already.
    func obey(_ entry: KillEntry) async {
        let note = LockNote(
            reason: entry.reason,
            requester: entry.requester,
            at: entry.at,
            isForAllReplicas: true
        )
        guard let part = self.beginLocking(note) else { return }
        await self.stopInjecting()
        let isKept = await self.keep(note)
        self.state.withLock { $0.status.isKept = isKept }
        self.newOrders.yield(.takeAway(part))
    }

    /// - Returns: the open part to take away; `nil` if there is none, or if that has begun already.
    private func beginLocking(_ note: LockNote) -> OpenPart? {
        let part = self.front.part
        return self.state.withLock { state in
            guard state.status.state == .open, let part else { return nil }
            state.note = note
            state.status = LockStatus(
                .locking,
                since: note.at,
                reason: note.reason,
                by: note.requester,
                isForAllReplicas: note.isForAllReplicas,
                needs: self.need
            )
            return part
        }
    }

    /// From the return of this method on, no request gets a token, and operators can't reach the open part.
    private func stopInjecting() async {
        self.front.gateway.replace(with: nil)
        let left = await self.front.proxy.lock()
        self.logger.notice(
            "the gateway is locked: no request gets a token any more",
            metadata: ["requests.left": .stringConvertible(left)]
        )
    }

    /// Keeps the lock at once, and again with the names of the other replicas, which the store knows.
    private func keep(_ note: LockNote, beside part: OpenPart) async -> Bool {
        let isKept = await self.keep(note)
        let others = await part.kills.otherReplicas()
        guard !others.isEmpty else { return isKept }
        let note = LockNote(
            reason: note.reason,
            requester: note.requester,
            at: note.at,
            isForAllReplicas: note.isForAllReplicas,
            otherReplicas: others
        )
        self.state.withLock { $0.note = note }
        return await self.keep(note) || isKept
    }

    /// Keeps the lock for later starts.
    ///
    /// - Returns: whether that succeeded.
    private func keep(_ note: LockNote) async -> Bool {
        do throws(StoreError) {
            try await self.file.write(note)
            return true
        } catch {
            self.logger.error(
                "the lock could not be kept in state_dir, so it ends with this process",
                metadata: ["error.reason": "\(error.message)"]
            )
            return false
        }
    }

    /// Ends the open part, once its token requests are stored, and drops it.
    func takeAway(_ part: OpenPart) async {
        await self.followOthers(part)
        async let end: Void = part.stop()
        var isCut = false
        while !part.hasEnded {
            let open = part.engine.exposedAccounts
            let isNow = self.state.withLock { state in
                state.status.openAccounts = open
                return state.isNow
            }
            if isNow, !isCut {
                isCut = true
                part.engine.stopNow()
                await part.keeper.shutDown()
            }
            try? await Task.sleep(for: .milliseconds(20))
        }
        await end
        self.front.disconnect()
        let lost = part.engine.abandonedAccounts
        self.state.withLock { state in
            state.status.state = .locked
            state.status.openAccounts = []
            state.status.lostAccounts = lost
        }
        guard !lost.isEmpty else { return self.logger.notice("the gateway holds no key and no token any more") }
        let names = lost.map(\.rawValue).joined(separator: ", ")
        self.logger.error(
            "the gateway is locked, and token requests were given up: these accounts may have lost their grants",
            metadata: ["accounts.lost": "\(names)"]
        )
        await self.add(AuditNote(action: .lock, outcome: "given_up", detail: "may be lost: \(names)", by: nil))
    }

    /// Waits until the other replicas have obeyed a lock of all, have stopped, or have been silent for their lease.
    private func followOthers(_ part: OpenPart) async {
        let deadline = BootInstant.now.advanced(by: .seconds(60))
        while BootInstant.now < deadline, let report = await part.kills.lockReport() {
            let name = self.front.name
            self.state.withLock { $0.status.otherReplicas = report.replicas.filter { $0.name != name } }
            guard report.state == .pending, !self.state.withLock({ $0.isNow }) else { return }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Waits until the present order is carried out, or for `limit`.
    func settle(within limit: Duration) async {
        let deadline = BootInstant.now.advanced(by: limit)
        while BootInstant.now < deadline, [.locking, .unlocking].contains(self.lockStatus.state) {
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Keeps a note for the audit log, which is out of reach.
    func add(_ note: AuditNote) async {
        do throws(StoreError) { try await self.orders.add(note) } catch {
            self.logger.error(
                "what happened while the gateway was locked could not be kept for the audit log",
                metadata: ["audit.action": "\(note.action)", "error.reason": "\(error.message)"]
            )
        }
    }
}

extension LockOrder {
    /// How it differs from a plain lock, for the audit log.
    fileprivate var words: String? {
        let words = [self.isForAllReplicas ? "all replicas" : nil, self.isNow ? "at once" : nil].compactMap { $0 }
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }
}

extension AuditNote {
    init(action: AuditAction, outcome: String, detail: String?, by actor: AuditActor?) {
        self.init(
            action: action.rawValue,
            outcome: outcome,
            detail: detail,
            requester: actor?.memo,
            at: Timepiece.system.now.wall
        )
    }
}
