internal import AdminAPI
internal import KillSwitch
internal import Logging
internal import Settings
internal import TokenModel
internal import TokenStorage

/// Decides how a gateway begins: open, or locked because of an order that stands or because its key is not there.
struct GatewayStart: Sendable {
    private let front: GatewayFront
    private let file: LockFile
    /// `nil` for a gateway that begins locked.
    let opening: GatewayOpening?
    private let locked: (status: LockStatus, note: LockNote?)?

    /// Opens the store, unless the gateway begins locked.
    ///
    /// - Throws: what keeps the gateway from starting, such as a key that is another store's. A key that must be asked for and
    ///   is not given is no such reason: the gateway begins locked.
    init(_ front: GatewayFront) async throws(StartError) {
        self.front = front
        self.file = LockFile(in: front.settings.stateDirectory)
        let origin = DriverStore.keyOrigin(front.settings, createsMissing: true)
        if let note = await self.file.read() {
            self.opening = nil
            self.locked = (LockStatus(note, needs: LockStatus.Need(front.settings)), note)
            return
        }
        let missing: String
        do throws(StartError) {
            self.opening = try await Self.open(front, origin)
            self.locked = nil
            return
        } catch {
            // The next answer may be the right key.
            let isKeyMissing = error.cause == nil || error.cause == .unreadable
            guard front.settings.store.asksForItsKey, isKeyMissing else { throw error }
            missing = error.message
        }
        self.opening = nil
        self.locked = (
            LockStatus(
                .locked,
                since: front.startedAt,
                reason: "the sealing key is not there",
                needs: LockStatus.Need(front.settings),
                waitsFor: missing,
                isKept: false
            ), nil
        )
    }

    private static func open(
        _ front: GatewayFront,
        _ origin: any SealingKeyOrigin
    ) async throws(StartError) -> GatewayOpening {
        let keys: any KeyRingSource
        do throws(KeyRingError) { keys = try await origin.keys(offered: nil) } catch { throw StartError(error) }
        return try await GatewayOpening.begin(front, keys: keys)
    }

    func abandon() async { await self.opening?.abandon() }

    /// Joins the replicas, unless the gateway begins locked.
    func finish() async throws(StartError) -> GatewayBeginning {
        guard let opening = self.opening else {
            let (status, note) = self.locked ?? (LockStatus(.locked), nil)
            self.front.logger.warning(
                "the gateway begins locked: callers get 503 until it is unlocked",
                metadata: ["lock.reason": "\(status.reason ?? "")", "lock.waits_for": "\(status.waitsFor ?? "")"]
            )
            return .locked(status, note)
        }
        do throws(StartError) {
            return .open(try await opening.finish(takingOver: LockedOrders(in: self.front.settings.stateDirectory)))
        } catch {
            guard error.cause == .locked else { throw error }
            return try await self.begin(lockedBy: error, opening)
        }
    }

    /// The kill log says that all replicas are locked.
    private func begin(lockedBy error: StartError, _ opening: GatewayOpening) async throws(StartError)
        -> GatewayBeginning
    {
        let entry = try? await opening.standingLock()
        await opening.abandon()
        let note = LockNote(
            reason: entry?.reason ?? error.message,
            requester: entry?.requester,
            at: entry?.at,
            isForAllReplicas: true
        )
        do throws(StoreError) { try await self.file.write(note) } catch {
            throw StartError(
                .badConfiguration,
                "all replicas are locked, and state_dir can't hold that: \(error.message)"
            )
        }
        self.front.logger.warning("all replicas are locked, so the gateway begins locked")
        return .locked(LockStatus(note, needs: LockStatus.Need(self.front.settings)), note)
    }
}

extension LockStatus {
    /// The status of a gateway that was locked before it started.
    init(_ note: LockNote, needs: Need) {
        self.init(
            .locked,
            since: note.at,
            reason: note.reason,
            by: note.requester,
            isForAllReplicas: note.isForAllReplicas,
            needs: needs
        )
    }
}

extension StoreSettings {
    /// Whether a person or a program is asked for the sealing key, and may refuse.
    fileprivate var asksForItsKey: Bool {
        switch self {
        case .memory: false
        case .single(_, let key), .migrating(_, _, let key), .mirroring(_, _, let key): key.isAskedFor
        }
    }
}

extension SealingKeySettings {
    fileprivate var isAskedFor: Bool {
        switch self {
        case .command, .passphrase: true
        case .file, .given, .credential: false
        }
    }
}
