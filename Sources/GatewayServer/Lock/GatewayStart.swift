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
    /// What works on the store; `nil` for a gateway that begins locked.
    let part: OpenPart?
    private let locked: (status: LockStatus, note: LockNote?)?
    /// The key that has not come yet.
    private let asked: AskedKey?

    /// Opens the store, unless the gateway begins locked.
    ///
    /// - Throws: what keeps the gateway from starting, such as a key that is another store's. A key that must be asked for and
    ///   is not given is no such reason: the gateway begins locked.
    init(_ front: GatewayFront) async throws(StartError) {
        self.front = front
        self.file = LockFile(in: front.settings.stateDirectory)
        let origin = DriverStore.keyOrigin(front.settings, createsMissing: true)
        if let note = await self.file.read() {
            (self.opening, self.part, self.asked) = (nil, nil, nil)
            self.locked = (LockStatus(note, needs: LockStatus.Need(front.settings)), note)
            return
        }
        let asked = origin.ask()
        guard let answer = await Self.answer(to: asked) else {
            (self.opening, self.part, self.asked) = (nil, nil, asked)
            self.locked = (Self.status(front, waitsFor: "\(origin.name), which has not answered yet"), nil)
            return
        }
        do throws(StartError) {
            let opening = try await Self.open(front, answer)
            (self.opening, self.part, self.locked) = (opening, opening.makePart(), nil)
        } catch {
            // The next answer may be the right key.
            guard front.settings.store.asksForItsKey, error.isOfKey else { throw error }
            (self.opening, self.part) = (nil, nil)
            self.locked = (Self.status(front, waitsFor: error.message), nil)
        }
        self.asked = nil
    }

    /// The status of a gateway that nobody has locked.
    private static func status(_ front: GatewayFront, waitsFor missing: String) -> LockStatus {
        LockStatus(
            .locked,
            since: front.startedAt,
            reason: "the sealing key is not there",
            needs: LockStatus.Need(front.settings),
            waitsFor: missing
        )
    }

    private static func open(
        _ front: GatewayFront,
        _ answer: Result<any KeyRingSource, KeyRingError>
    ) async throws(StartError) -> GatewayOpening {
        let keys: any KeyRingSource
        do throws(KeyRingError) { keys = try answer.get() } catch { throw StartError(error) }
        return try await GatewayOpening.begin(front, keys: keys)
    }

    /// The answer if it comes soon. A start does not wait longer than that: whoever watches the process wants to see it.
    private static func answer(to asked: AskedKey) async -> Result<any KeyRingSource, KeyRingError>? {
        let (answers, arrived) = AsyncStream.makeStream(of: Result<any KeyRingSource, KeyRingError>?.self)
        let waiting = Task { arrived.yield(await asked.value) }
        let limit = Task {
            try? await Task.sleep(for: Self.patience)
            arrived.yield(nil)
        }
        defer {
            waiting.cancel()
            limit.cancel()
        }
        return await answers.first { _ in true } ?? nil
    }

    private static let patience = Duration.seconds(5)

    func abandon() async {
        self.asked?.cancel()
        await self.opening?.abandon()
    }

    /// Joins the replicas, unless the gateway begins locked.
    func finish() async throws(StartError) -> GatewayBeginning {
        guard let opening = self.opening, let part = self.part else {
            let (status, note) = self.locked ?? (LockStatus(.locked), nil)
            self.front.logger.warning(
                "the gateway begins locked: callers get 503 until it is unlocked",
                metadata: ["lock.reason": "\(status.reason ?? "")", "lock.waits_for": "\(status.waitsFor ?? "")"]
            )
            return self.asked.map { .asking(status, $0) } ?? .locked(status, note)
        }
        do throws(StartError) {
            let orders = LockedOrders(in: self.front.settings.stateDirectory)
            return .open(try await opening.finish(part, takingOver: orders))
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
        _ = await self.front.close()
        self.front.disconnect()
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
