package import Logging
internal import Synchronization
package import TokenModel
package import TokenStorage

/// Kills tokens so that it can be trusted: what it calls complete, no replica sends any more.
///
/// The way of a kill, all of it:
///
///     raise     an entry at the end of the kill log, durable                       (``kill(_:reason:streams:wait:)``)
///     tell      a hint of the store's; each replica polls the log anyway           (``poll()``)
///     fence     each replica, on each event loop: nothing dead is written any more (``KillFence``)
///     ack       then it says so in its record
///     wait      for every replica listed after the raise: its word, its end, or its lease (``KillWatch``)
///     revoke    in the background, with a report of each token                     (``Revoker``)
///
/// A replica puts tokens into requests only as long as its last good read of the log is younger than its lease; whoever
/// can't be reached stops by itself. ``start()`` joins before anything is served, ``run()`` keeps the lease.
package final class KillSwitch: Sendable {
    struct Kill {
        let epoch: Epoch
        let entry: KillEntry
        /// Its scope was killed already.
        let wasKilled: Bool
        var watch: KillWatch?
        var draining = 0
        var isEnded = false
    }

    struct Asker {
        /// Where it came from.
        let address: String?
    }

    struct State {
        /// As this process has fenced itself.
        var epochs = KillEpochs()
        /// The log that ``epochs`` is folded from.
        var entries: [KillEntry] = []
        /// How many of them stand in the copy.
        var copied = 0
        var kills: [Kill] = []
        /// Who asked this process for kills that wait, or may have to: for the audit log, however they come to stand.
        var askers: [KillID: Asker] = [:]
        /// Kills that may not stand in the log yet.
        var orders: [KillOrder] = []
        /// Those that do, and are to be let go of.
        var released: [KillOrder] = []
        /// Kept kills that were told of, or are about to be.
        var told: Set<KillID> = []
        /// Kills that were complete at the start.
        var ended: Set<Epoch> = []
        /// Replicas whose expulsion this process sees through.
        var expelled: Set<ReplicaID> = []
        var replica: ReplicaVault.Entry?
        /// Under what this replica is listed, or about to be.
        var stay = ReplicaID.random()
        /// It was said that the lease has lapsed.
        var hasComplained = false
        /// It was said that the copy could not be written, and that the log is another.
        var hasMissedCopy = false
        var hasFoundForeignLog = false
        var leaseUntil = BootInstant.distantPast
        /// Who waits for the next poll.
        var asking: [PollWaiter] = []
        var isStopped = false
        var hasLeft = false
    }

    let log: KillLog
    let replicas: ReplicaVault
    let records: SealedRecords
    package let boot: BootID
    /// Of this replica; only shown.
    package let name: String
    let lease: Duration
    /// Knows which other boots have ended for certain.
    let witness: (any BootWitness)?
    /// This host's own copy of the log; `nil` where there is none.
    let copy: KeptLog?
    let timepiece: Timepiece
    let logger: Logger
    let fence: any KillFence
    let revoker: Revoker
    let state = Mutex(State())
    /// Before ``fence``.
    let turnstile = Turnstile()
    let bell: AsyncStream<Void>
    let ring: AsyncStream<Void>.Continuation
    /// Rings when there may be entries that the copy lacks.
    let copyBell: AsyncStream<Void>
    let ringForCopy: AsyncStream<Void>.Continuation
    /// Kills to be seen through, whoever waits for them.
    let begun: AsyncStream<Epoch>
    let newlyBegun: AsyncStream<Epoch>.Continuation
    /// Replicas that were expelled, to be removed in their time.
    let expelled: AsyncStream<ReplicaVault.Entry>
    let newlyExpelled: AsyncStream<ReplicaVault.Entry>.Continuation
    /// Kills that had to wait for the store, as they come to stand there; also those that an earlier start, or another
    /// process on this `state_dir`, has not recorded. For one reader, who has each recorded by
    /// ``settle(_:_:)``.
    package let keptKills: AsyncStream<KeptKill>
    let newlyStanding: AsyncStream<KeptKill>.Continuation
    /// Rings when killed tokens may stand in accounts' records.
    let sweepBell: AsyncStream<Void>
    let ringForSweep: AsyncStream<Void>.Continuation
    /// Rings when killed tokens may be there to be revoked.
    let revocationBell: AsyncStream<Void>
    let ringForRevocation: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - name: only shown.
    ///   - lease: how long tokens are put into requests without having read the log.
    ///   - witness: knows which other boots have ended; without one a kill waits for the leases of those that were killed.
    ///   - copy: this host's own; without one a store that was put back is not noticed, and an order that it does not take
    ///     ends with the process.
    ///   - endpoint: where tokens made for somebody are revoked; `nil` where the configuration knows no such provider.
    package init(
        _ records: SealedRecords,
        boot: BootID,
        name: String,
        lease: Duration,
        witness: (any BootWitness)? = nil,
        copy: KeptLog? = nil,
        timepiece: Timepiece = .system,
        logger: Logger,
        fence: any KillFence,
        endpoint: @escaping Revoker.Endpoints
    ) {
        self.records = records
        self.log = KillLog(records)
        self.replicas = ReplicaVault(records)
        self.boot = boot
        self.name = name
        self.lease = lease
        self.witness = witness
        self.copy = copy
        self.timepiece = timepiece
        self.logger = logger
        self.fence = fence
        self.revoker = Revoker(
            records,
            boot: boot,
            witness: witness,
            timepiece: timepiece,
            logger: logger,
            endpoint: endpoint
        )
        (self.bell, self.ring) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (self.copyBell, self.ringForCopy) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (self.begun, self.newlyBegun) = AsyncStream.makeStream()
        (self.expelled, self.newlyExpelled) = AsyncStream.makeStream()
        (self.keptKills, self.newlyStanding) = AsyncStream.makeStream()
        (self.sweepBell, self.ringForSweep) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (self.revocationBell, self.ringForRevocation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// The kills as this process has fenced itself against them.
    package var epochs: KillEpochs { self.state.withLock { $0.epochs } }

    /// Whether tokens may be put into requests now.
    package var holdsLease: Bool { self.state.withLock { $0.leaseUntil } > self.timepiece.now.boot }

    /// Reads the log to its end, fences this process against what is new there, and renews its lease.
    ///
    /// - Returns: the kills there are, by a read that began after this call.
    package func read() async throws(StoreError) -> KillEpochs {
        try await self.poll()
        return self.epochs
    }

    /// Comes back at once while the lease holds; else tries to renew it, for up to a second.
    package func renewIfLapsed() async throws(PassError) {
        guard !self.holdsLease else { return }
        let deadline = self.timepiece.now.boot.advanced(by: .seconds(1))
        while self.timepiece.now.boot < deadline {
            do throws(StoreError) {
                try await self.poll(until: deadline)
                if self.holdsLease { return }
            } catch {
                await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .milliseconds(100)))
            }
        }
        throw PassError(
            .storeLost,
            "the kill log could not be read for longer than the lease, so no token is used",
            retryAfter: .seconds(1)
        )
    }

    /// Ends ``run()``.
    package func stop() {
        let asking = self.state.withLock { state in
            state.isStopped = true
            defer { state.asking = [] }
            return state.asking
        }
        for one in asking { one.answer(.failure(StoreError(.unreachable, "the process stops"))) }
        self.ring.finish()
        self.ringForCopy.finish()
        self.newlyBegun.finish()
        self.newlyExpelled.finish()
        self.newlyStanding.finish()
        self.ringForSweep.finish()
        self.ringForRevocation.finish()
        self.revoker.claims.stop()
    }
}
