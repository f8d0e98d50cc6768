internal import AdminAPI
internal import Audit
internal import KillSwitch
internal import Logging
internal import Proxy
internal import Settings
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
        guard let part = self.beginLocking(note, isNow: order.isNow) else {
            return try await self.lockAgain(note, order, by: actor)
        }
        async let isKept = self.keep(note, beside: part)
        async let ticket = try? part.audit.begin(
            .lock,
            reason: order.reason,
            detail: order.words,
            by: actor
        )
        await self.stopInjecting(part)
        var failure: LockError?
        do throws(KillSwitchError) {
            if order.isForAllReplicas {
                let report = try await part.kills.orderLock(reason: order.reason, wait: Self.patience, by: actor.memo)
                self.state.withLock { $0.status.otherReplicas = report.replicas }
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
    private func lockAgain(
        _ note: LockNote,
        _ order: LockOrder,
        by actor: AuditActor
    ) async throws(LockError) -> LockStatus {
        guard !order.isForAllReplicas else {
            throw LockError(
                .alreadyLocked,
                "this replica is locked and can't reach the store: lock all replicas from one that runs"
            )
        }
        if order.isNow { self.state.withLock { $0.isNow = true } }
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
        let detail = isNew ? "reason: \(note.reason)" : "it was locked already; reason: \(note.reason)"
        await self.add(AuditNote(action: .lock, outcome: "done", detail: detail, by: actor))
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
        await self.stopInjecting(part)
        let isKept = await self.keep(note, beside: part)
        self.state.withLock { $0.status.isKept = isKept }
        self.newOrders.yield(.takeAway(part))
    }

    /// - Returns: the open part to take away; `nil` if there is none, or if that has begun already.
    private func beginLocking(_ note: LockNote, isNow: Bool = false) -> OpenPart? {
        let part = self.front.part
        return self.state.withLock { state in
            guard state.status.state == .open, let part else { return nil }
            (state.note, state.isNow) = (note, isNow)
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

    /// From the return of this method on, no request gets a token, and no refresh begins.
    private func stopInjecting(_ part: OpenPart) async {
        part.engine.stopBackgroundRefreshes()
        let left = await self.front.close()
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

    /// Keeps a lock that came while the gateway opened: the file may have been removed after it was written.
    func keepAgain() async {
        guard let note = self.state.withLock({ $0.note }) else { return }
        let isKept = await self.keep(note)
        self.state.withLock { state in
            state.isInterrupted = false
            state.status.isKept = isKept
            (state.status.reason, state.status.by) = (note.reason, note.requester)
        }
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
        await self.endRequests(part)
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
            guard await self.pause() else { return }
        }
        await end
        self.front.disconnect()
        let lost = part.engine.abandonedAccounts
        self.state.withLock { state in
            state.status.state = .locked
            state.status.openAccounts = []
            state.status.waitsFor = nil
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
            self.state.withLock { $0.status.otherReplicas = report.replicas }
            guard report.state == .pending, !self.state.withLock({ $0.isNow }) else { return }
            guard await self.pause() else { return }
        }
    }

    /// Lets requests that have their token end within the grace period, and cuts the rest: once this replica is no member any
    /// more, a kill does not wait for them.
    private func endRequests(_ part: OpenPart) async {
        let deadline = BootInstant.now.advanced(by: self.front.settings.shutdownGrace)
        while BootInstant.now < deadline, !self.state.withLock({ $0.isNow }) {
            let left = await self.front.proxy.requestCount()
            guard left > 0 else { return }
            let open = part.engine.exposedAccounts
            self.state.withLock { state in
                state.status.openAccounts = open
                state.status.waitsFor = "\(left) requests that have their token, for at most shutdown_grace"
            }
            guard await self.pause() else { return }
        }
        var epochs = part.kills.epochs
        epochs.setPending([.all: .abort])
        _ = await self.front.proxy.fence(epochs)
    }

    /// - Returns: whether it may go on; `false` if the process has no time left.
    private func pause() async -> Bool {
        do { try await Task.sleep(for: .milliseconds(20)) } catch { return false }
        return true
    }

    /// Waits until the present order is carried out, or for `limit`.
    func settle(within limit: Duration) async {
        let deadline = BootInstant.now.advanced(by: limit)
        while BootInstant.now < deadline, [.locking, .unlocking].contains(self.lockStatus.state) {
            guard await self.pause() else { return }
        }
    }

    /// Notes a wrong admin token, at most once a minute.
    func refusedToken(from address: String?) async {
        let now = BootInstant.now
        let isDue = self.state.withLock { state in
            guard state.status.state != .open, state.refusalNoted.duration(to: now) >= .seconds(60) else {
                return false
            }
            state.refusalNoted = now
            return true
        }
        guard isDue else { return }
        await self.add(
            AuditNote(action: .refusedTokens, outcome: "refused", detail: nil, by: .stranger(at: address))
        )
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
