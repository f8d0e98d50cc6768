package import TokenModel

/// Finds out when a kill is complete: every replica that there was after its entry had become durable has fenced itself,
/// has gone, or has said nothing since for longer than it goes on without reading the log.
///
/// The last is counted by this process's own clock over reads at most 2 s apart: across a gap (this process was stopped,
/// or the store was away) nothing is known, and the count starts anew. Time alone completes nothing.
package struct KillWatch: Equatable, Sendable {
    /// What is known of a replica.
    package enum State: String, Sendable {
        case acknowledged
        case leaseExpired = "lease_expired"
        /// It stopped in order, or was proven dead.
        case gone
        case pending
    }

    /// One that is waited for.
    package struct Replica: Equatable, Sendable {
        package let id: ReplicaID
        package fileprivate(set) var name: String
        package fileprivate(set) var state: State
        /// `nil` while its record does not open: nobody knows its lease.
        fileprivate var silence: Duration?
        fileprivate var version: Version
        fileprivate var silentSince: BootInstant

        /// When it will have been silent for long enough; `nil` where nobody waits for it any more, or nobody knows.
        package var until: BootInstant? {
            self.state == .pending ? self.silence.map { self.silentSince.advanced(by: $0) } : nil
        }
    }

    package let epoch: Epoch
    package private(set) var replicas: [Replica]
    private var lastRead: BootInstant

    /// Reads further apart than this prove nothing about the time between them.
    package static let longestGap = Duration.seconds(2)

    /// - Parameters:
    ///   - listed: all replicas, as listed after the entry had become durable; the listing was asked for at `now`.
    ///   - unreadable: those whose record does not open. Time tells nothing of them: they are waited for until their record
    ///     opens or has gone.
    package init(
        _ epoch: Epoch,
        listed: [ReplicaVault.Entry],
        unreadable: [ReplicaID] = [],
        now: BootInstant
    ) {
        self.epoch = epoch
        self.lastRead = now
        self.replicas = listed.map { entry in
            Replica(
                id: entry.id,
                name: entry.record.name,
                state: entry.record.acknowledged >= epoch ? .acknowledged : .pending,
                silence: entry.record.silence,
                version: entry.version,
                silentSince: now
            )
        }
        self.replicas += unreadable.map { id in
            Replica(
                id: id,
                name: id.unreadableName,
                state: .pending,
                silence: nil,
                version: Version(0),
                silentSince: now
            )
        }
    }

    /// Whom to read next.
    package var pending: [ReplicaID] { self.replicas.filter { $0.state == .pending }.map(\.id) }

    package var isComplete: Bool { self.replicas.allSatisfy { $0.state != .pending } }

    /// Takes what one round of reads, all ended at `now`, has found of those that were pending.
    ///
    /// - Parameter found: `nil` for a replica whose record has gone; one whose record does not open is not in it.
    package mutating func saw(_ found: [ReplicaID: ReplicaVault.Entry?], at now: BootInstant) {
        let isGap = self.lastRead.duration(to: now) > Self.longestGap
        self.lastRead = now
        for index in self.replicas.indices where self.replicas[index].state == .pending {
            guard let entry = found[self.replicas[index].id] else { continue }
            guard let entry else {
                self.replicas[index].state = .gone
                continue
            }
            if entry.record.acknowledged >= self.epoch {
                self.replicas[index].state = .acknowledged
                continue
            }
            if entry.version != self.replicas[index].version || isGap {
                self.replicas[index].name = entry.record.name
                self.replicas[index].silence = entry.record.silence
                self.replicas[index].version = entry.version
                self.replicas[index].silentSince = now
            } else if let silence = self.replicas[index].silence,
                self.replicas[index].silentSince.duration(to: now) >= silence
            {
                self.replicas[index].state = .leaseExpired
            }
        }
    }
}
