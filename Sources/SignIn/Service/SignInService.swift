package import Audit
package import Logging
internal import OAuth
internal import ProviderClient
internal import Synchronization
package import TokenModel
package import TokenRefresh
package import TokenStorage

/// Gets accounts their first tokens, or new ones, from somebody who signs in at the provider.
///
/// A sign-in is a record in the store, so one replica may begin it and another complete it. The answer is taken by a
/// compare-and-set, so it is taken once, and only after `state` and, in a browser, the cookie were compared. The tokens
/// are exchanged and stored in ``run()``, so nobody's disconnection loses them.
///
/// Read on in the order of a sign-in: begin (`SignInService+Beginning`), the answer (`SignInService+Answering`), the
/// tokens (`SignInService+Redeeming`), and for devices `SignInService+Polling`.
package final class SignInService: Sendable {
    /// Work that outlives the request that ordered it.
    enum Job: Sendable {
        case redeem(SignInRecord.Terms, ClaimID, AuthorizationSecrets, code: Secret, ended: SignInCompletion)
        case poll(SignInID)
    }

    /// How long somebody has to sign in.
    static let lifetime = Duration.seconds(600)

    let vault: SignInVault
    let engine: RefreshEngine
    let audit: AuditTrail
    let configuration: @Sendable () -> SignInConfiguration
    let timepiece: Timepiece
    let logger: Logger
    /// The device sign-ins that this process asks about.
    let polled = Mutex<Set<SignInID>>([])
    /// Answers that this process may have taken: the store has not said so. What an exchange needs is in no record then.
    let unconfirmed = Mutex<[ClaimID: AuthorizationSecrets]>([:])
    /// Distinguishes the claims of this process from those of another one that gets the same answer.
    let claimSalt = ClaimID.random()
    /// When ``stop()`` was called.
    private let stoppedAt = Mutex<BootInstant?>(nil)
    let newJobs: AsyncStream<Job>.Continuation
    private let jobs: AsyncStream<Job>

    /// - Parameter configuration: returns what is configured now.
    package init(
        _ records: SealedRecords,
        engine: RefreshEngine,
        audit: AuditTrail,
        timepiece: Timepiece = .system,
        logger: Logger,
        configuration: @escaping @Sendable () -> SignInConfiguration
    ) {
        self.vault = SignInVault(records)
        self.engine = engine
        self.audit = audit
        self.timepiece = timepiece
        self.logger = logger
        self.configuration = configuration
        (self.jobs, self.newJobs) = AsyncStream.makeStream()
    }

    /// Exchanges answers for tokens until ``stop()``. Returns when those that were taken have ended. Call it once.
    package func run() async {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask { await self.resumePolling() }
            await withDiscardingTaskGroup { redemptions in
                for await job in self.jobs {
                    switch job {
                    case .redeem(let terms, let claim, let secrets, let code, let completion):
                        redemptions.addTask {
                            completion.end(await self.redeem(terms, claim, secrets, code: code))
                        }
                    // Nothing is lost if the questions end with the process: any replica goes on with them.
                    case .poll(let id): tasks.addTask { await self.poll(id) }
                    }
                }
            }
            tasks.cancelAll()
        }
    }

    /// Takes no answers any more. Those that were taken are exchanged for tokens first.
    package func stop() {
        self.stoppedAt.withLock { $0 = $0 ?? self.timepiece.now.boot }
        self.newJobs.finish()
    }

    /// Waits a moment before another try; `false` if there is none. A process that stops waits for less.
    func mayTryAgain(until deadline: BootInstant) async -> Bool {
        let end = self.stoppedAt.withLock { $0 }.map { min(deadline, $0.advanced(by: Self.stopPatience)) } ?? deadline
        guard !Task.isCancelled, self.timepiece.now.boot < end else { return false }
        await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .milliseconds(500)))
        return true
    }

    private static let stopPatience = Duration.seconds(10)

    // MARK: - What stands

    /// The state of a sign-in.
    package func report(on id: SignInID) async throws(SignInError) -> SignInReport {
        let entry = try await self.entry(id)
        // The process that began to ask about a device may have ended.
        if case .device = entry.record.phase { self.pollFromHere(id) }
        return SignInReport(entry.record, at: self.timepiece.now.wall)
    }

    /// Ends a sign-in that waits for its answer.
    package func cancel(_ id: SignInID) async throws(SignInError) -> SignInReport {
        while true {
            let entry = try await self.entry(id)
            let now = self.timepiece.now.wall
            let report = SignInReport(entry.record, at: now)
            guard report.state == .pending, let name = id.name else {
                throw SignInError(.conflict, "the sign-in can't be cancelled: \(report.standing)")
            }
            var record = entry.record
            record.phase = .ended(SignInEnd(word: .cancelled, failure: nil, missingScopes: [], at: now))
            if let written = try await self.storing({ () async throws(StoreError) in
                try await self.vault.write(record, at: name, over: entry)
            }) {
                return SignInReport(written.record, at: now)
            }
        }
    }

    func entry(_ id: SignInID) async throws(SignInError) -> SignInVault.Entry {
        let entry = try await self.storing { () async throws(StoreError) in try await self.vault.read(id) }
        guard let entry else {
            throw SignInError(
                .unknownSignIn,
                "there is no such sign-in; a later one of the same account may have taken its place"
            )
        }
        return entry
    }

    /// Passes on what the store says.
    func storing<Value>(
        _ call: () async throws(StoreError) -> Value
    ) async throws(SignInError) -> Value {
        do throws(StoreError) {
            return try await call()
        } catch {
            throw SignInError(
                error.code == .unreadable ? .unreadable : .storeLost,
                "the sign-in could not be read or written: \(error.message)"
            )
        }
    }
}

extension SignInReport {
    /// What has become of it, for a message.
    var standing: String {
        switch self.state {
        case .pending: "it waits for its answer"
        case .redeeming: "its answer is being exchanged for tokens"
        case .done: "it is done"
        case .failed: "it has failed\(self.failure.map { " (\($0.code.rawValue))" } ?? "")"
        case .cancelled: "it was cancelled"
        case .expired: "its time is over"
        }
    }
}

extension SignInError {
    /// The account can't get tokens.
    init(_ cause: AccountChangeError) {
        let code: Code =
            switch cause.code {
            case .notConfigured: .unknownAccount
            case .minted, .killed, .subjectDiffers, .invalidTokens, .exists, .familyFull: .conflict
            case .unreadable: .unreadable
            case .storeLost: .storeLost
            }
        self.init(code, cause.message)
    }

    /// The provider can't be asked for a sign-in.
    init(_ cause: AuthorizationServerError, of provider: ProviderID) {
        let code: Code =
            switch cause.code {
            case .unreachable: .providerUnreachable
            case .refused, .malformed: .providerRefused
            case .notOffered: .conflict
            }
        self.init(code, "provider \(provider): \(cause.message)")
    }
}

/// The end of one redemption, for the request that waits for it.
final class SignInCompletion: Sendable {
    private enum State {
        case open([CheckedContinuation<SignInEnd, Never>])
        case ended(SignInEnd)
    }

    private let state = Mutex(State.open([]))

    func end(_ end: SignInEnd) {
        let waiters = self.state.withLock { state in
            guard case .open(let waiters) = state else { return [CheckedContinuation<SignInEnd, Never>]() }
            state = .ended(end)
            return waiters
        }
        for waiter in waiters { waiter.resume(returning: end) }
    }

    var value: SignInEnd {
        get async {
            await withCheckedContinuation { waiter in
                let end: SignInEnd? = self.state.withLock { state in
                    switch state {
                    case .ended(let end): return end
                    case .open(let waiters):
                        state = .open(waiters + [waiter])
                        return nil
                    }
                }
                if let end { waiter.resume(returning: end) }
            }
        }
    }
}
