internal import AdminAPI
internal import Audit
internal import CShims
internal import Glibc
internal import KillSwitch
internal import Logging
internal import Settings
internal import Synchronization
internal import TokenModel
internal import TokenStorage

extension GatewayLock {
    func unlock(_ offered: OfferedKey?, by actor: AuditActor) async throws(LockError) -> LockStatus {
        let now = BootInstant.now
        let refusal: LockError? = self.state.withLock { state in
            switch state.status.state {
            case .open: return LockError(.alreadyOpen, "the gateway is not locked")
            case .locking:
                return LockError(
                    .busy,
                    "the gateway is about to be locked: unlock it when martlet status says that it is"
                )
            case .unlocking: return LockError(.busy, "another unlock is under way; one at a time is let in")
            case .locked:
                guard let delay = state.attempts.delay(at: now) else { return nil }
                return LockError(
                    .tooManyAttempts,
                    "too many wrong passphrases or keys; the next attempt is let in in \(delay.components.seconds + 1) s",
                    retryAfter: delay
                )
            }
        }
        if let refusal { throw refusal }
        guard self.beginOpening(byItself: false) else { throw LockError(.busy, "another order came first; try again") }
        let result = await withCheckedContinuation { continuation in
            guard case .enqueued = self.newOrders.yield(.open(offered, actor, continuation)) else {
                return continuation.resume(returning: .failure(LockError(.busy, "the gateway stops")))
            }
        }
        try result.get()
        return self.lockStatus
    }

    /// - Parameter isByItself: whether the gateway only lacked its key, and has not been told to open.
    func beginOpening(byItself isByItself: Bool) -> Bool {
        guard !isByItself || self.lacksOnlyItsKey else { return false }
        return self.state.withLock { state in
            guard state.status.state == .locked else { return false }
            state.status.state = .unlocking
            state.isInterrupted = false
            return true
        }
    }

    /// Opens the store and prepares all that works on it. Nothing is served yet.
    func open(_ offered: OfferedKey?, by actor: AuditActor) async -> Result<OpenPart, LockError> {
        do throws(LockError) {
            let part = try await self.openedPart(offered, by: actor)
            self.logger.notice("the gateway is unlocked")
            return .success(part)
        } catch {
            let now = BootInstant.now
            self.state.withLock { state in
                state.status.state = .locked
                state.asking = nil
                if offered != nil, error.isGuess { state.attempts.failed(at: now) }
                if state.note == nil { state.status.waitsFor = error.message }
            }
            martlet_release_freed()
            self.logger.warning(
                "the gateway stays locked",
                metadata: ["error.code": "\(error.code.rawValue)", "error.reason": "\(error.message)"]
            )
            // What the gateway tries by itself would fill the notes, and so would requests without a passphrase.
            if actor.kind != .gateway, error.code != .passphraseNeeded {
                await self.add(AuditNote(action: .unlock, outcome: error.code.rawValue, detail: nil, by: actor))
            }
            return .failure(error)
        }
    }

    private func openedPart(_ offered: OfferedKey?, by actor: AuditActor) async throws(LockError) -> OpenPart {
        let asked = self.state.withLock { state in
            let asked = state.asking ?? self.origin.ask(offered: offered)
            state.asking = asked
            return asked
        }
        let keys: any KeyRingSource
        do throws(KeyRingError) { keys = try await asked.value.get() } catch {
            throw LockError(error, offered)
        }
        self.state.withLock { $0.asking = nil }
        let opening: GatewayOpening
        do throws(StartError) { opening = try await GatewayOpening.begin(self.front, keys: keys) } catch {
            throw LockError(error)
        }
        do throws(LockError) {
            let ticket: AuditTicket
            do throws(AuditError) {
                ticket = try await opening.audit.begin(.unlock, reason: self.lockStatus.reason, by: actor)
            } catch {
                throw LockError(.storeUnreachable, error.message)
            }
            do throws(LockError) {
                let part = try await self.finish(opening, by: actor)
                await self.recordNotes(in: part.audit)
                await part.audit.end(ticket, "done")
                return part
            } catch {
                await opening.audit.end(ticket, error.code.rawValue)
                throw error
            }
        } catch {
            await opening.abandon()
            throw error
        }
    }

    /// Joins the replicas, with the kills that came while the gateway was locked, and ends the lock.
    private func finish(_ opening: GatewayOpening, by actor: AuditActor) async throws(LockError) -> OpenPart {
        let part: OpenPart
        do throws(StartError) {
            part = try await opening.finish(opening.makePart(), takingOver: self.orders, overridesLock: true)
        } catch {
            throw LockError(error)
        }
        do throws(LockError) {
            do throws(KillSwitchError) { try await part.kills.orderUnlock(by: actor.memo) } catch {
                throw LockError(.storeUnreachable, error.message)
            }
            guard await part.kills.lockReport() == nil else {
                throw LockError(.busy, "all replicas were locked again meanwhile")
            }
            do throws(StoreError) { try await self.file.remove() } catch {
                throw LockError(
                    .keyUnavailable,
                    "the file locked can't be removed from state_dir, so the next start would be locked: \(error.message)"
                )
            }
            return part
        } catch {
            // It has joined the replicas, and leaves at once.
            part.kills.stop()
            await part.kills.run()
            part.release()
            await opening.host.close(leavesNothing: part.kills.hasLeft)
            throw error
        }
    }

    /// Writes to the audit log what happened while it was out of reach. What can't be written now is written after the next
    /// unlock.
    private func recordNotes(in audit: AuditTrail) async {
        guard let notes = try? await self.orders.notes() else { return }
        for note in notes.notes {
            guard let action = AuditAction(rawValue: note.action) else { continue }
            let detail = ["at \(note.at.rfc3339), while the gateway was locked", note.detail].compactMap { $0 }
            let actor = AuditActor.admin(rememberedBy: note.requester)
            guard await self.record(action, note.outcome, detail.joined(separator: "; "), by: actor, in: audit) else {
                return
            }
        }
        if notes.lost > 0 {
            let detail = "\(notes.lost) more records from the time when the gateway was locked are missing"
            guard await self.record(.unlock, "incomplete", detail, by: .gateway("state_dir"), in: audit) else { return }
        }
        await self.orders.drop(notes)
    }

    private func record(
        _ action: AuditAction,
        _ outcome: String,
        _ detail: String,
        by actor: AuditActor,
        in audit: AuditTrail
    ) async -> Bool {
        guard let ticket = try? await audit.begin(action, detail: detail, by: actor) else { return false }
        return await audit.end(ticket, outcome)
    }

    /// Where the keys come from, by the present configuration.
    var origin: any SealingKeyOrigin { DriverStore.keyOrigin(self.front.settings, createsMissing: true) }

    /// What somebody must bring to unlock.
    var need: LockStatus.Need { LockStatus.Need(self.front.settings) }
}

// MARK: - Kills

extension GatewayLock {
    func kill(
        _ scope: KillScope,
        reason: String,
        streams: KillStreams,
        by actor: AuditActor
    ) async throws(LockError) -> KillReport {
        let settings = self.front.settings
        let isKnown =
            switch scope {
            case .all: true
            case .provider(let provider): settings.providers.contains { $0.id == provider }
            case .account(let account): settings.accounts.contains { $0.id == account }
            }
        guard isKnown else {
            throw LockError(
                .unknownScope,
                "the configuration has no such name, and the gateway is locked and knows no other"
            )
        }
        let entry = KillEntry(.kill, scope, reason: reason, streams: streams, at: Timepiece.system.now.wall)
        let others = self.state.withLock { $0.note?.otherReplicas } ?? []
        let report: KillReport
        do throws(KillSwitchError) {
            report = try await KillSwitch.keep(entry, by: actor.memo, in: self.orders, others: others)
        } catch {
            throw LockError(.storeUnreachable, error.message)
        }
        self.logger.notice(
            "a kill was given to this replica, which is locked: it holds from the unlock on",
            metadata: ["kill.id": "\(entry.id)", "kill.scope": "\(scope.text)"]
        )
        // It may have been unlocked just now.
        if self.lockStatus.state == .open { await self.front.part?.kills.takeUp(self.orders) }
        return report
    }
}

// MARK: - Errors

extension LockError {
    /// Whether somebody may have tried to guess.
    fileprivate var isGuess: Bool { self.code == .wrongPassphrase || self.code == .wrongKey }

    fileprivate init(_ error: KeyRingError, _ offered: OfferedKey?) {
        let isKeyOffered = if case .key? = offered { true } else { false }
        let code: Code =
            switch error.code {
            case .passphraseWrong: .wrongPassphrase
            case .passphraseNeeded: .passphraseNeeded
            case .passphraseUnfit: .passphraseTooShort
            case .malformed where isKeyOffered: .wrongKey
            case .exposed, .malformed, .missing, .inaccessible, .refused: .keyUnavailable
            }
        self.init(code, error.message)
    }

    fileprivate init(_ error: StartError) {
        let code: Code =
            switch error.cause {
            case _ where error.isOfWrongKey: .wrongKey
            case .unreachable?: .storeUnreachable
            default: .storeRefused
            }
        self.init(code, error.message)
    }
}

extension LockStatus.Need {
    init(_ settings: GatewaySettings) {
        guard DriverStore.keyOrigin(settings, createsMissing: true).need == .passphrase else {
            self = .nothing
            return
        }
        // Only a store that is not there yet gets a passphrase of its own.
        let isNew = if case .single(.sqlite(let path), _) = settings.store { !Self.exists(path) } else { false }
        let envelope = settings.passphraseOrigin(isMadeWhenMissing: false).name
        self = isNew && !Self.exists(envelope) ? .newPassphrase : .passphrase
    }

    private static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 || errno != ENOENT }
}
