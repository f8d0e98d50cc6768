internal import Synchronization
internal import TokenStorage

/// The primary that the connections of one store object use.
///
/// After a failover the former primary may still be there, cut off from the others and open for reads. So once any
/// connection of the store has used a later history of writes, no connection uses an earlier one. And all connections use
/// the server to which the last of them has connected.
final class PrimaryRecord: Sendable {
    private struct State {
        /// Of the records that were opened.
        var mark: [UInt8] = []
        /// They are gone.
        var hasLostRecords = false
        var info: ServerInfo?
        /// Histories of writes that another has followed.
        var succeeded: Set<String> = []
        /// Servers, by run id, that have had replicas. They go on waiting for one: a primary that has lost its replicas
        /// may be the one that is cut off.
        var replicated: Set<String> = []
        /// The server, by run id, with a write that no replica has confirmed.
        var unconfirmed: String?
        /// The greatest that a Sentinel has named. It grows with each failover.
        var configurationEpoch: UInt64 = 0
        var failures = HostFailures()
    }

    private let state = Mutex(State())

    /// The mark of the records that this store has opened; empty before.
    var mark: [UInt8] { self.state.withLock(\.mark) }

    func opened(_ mark: [UInt8]) { self.state.withLock { $0.mark = mark } }

    var hasLostRecords: Bool { self.state.withLock(\.hasLostRecords) }

    func lostRecords() { self.state.withLock { $0.hasLostRecords = true } }

    /// What the primary said last about itself.
    var info: ServerInfo? { self.state.withLock(\.info) }

    /// Whether no other server has been used since.
    func isCurrent(_ info: ServerInfo) -> Bool { self.state.withLock { $0.info?.runID == info.runID } }

    /// Whether a write on this server is acknowledged only after a replica has it.
    func awaitsReplica(on info: ServerInfo) -> Bool { self.state.withLock { $0.replicated.contains(info.runID) } }

    /// Whether the server has a write that no replica has confirmed. What it says then may be lost, so it must not be read: a
    /// claim that only an isolated former primary has is none.
    func isUnconfirmed(_ info: ServerInfo) -> Bool { self.state.withLock { $0.unconfirmed == info.runID } }

    /// Notes whether all writes on the server up to now are confirmed.
    func note(isConfirmed: Bool, on info: ServerInfo) {
        self.state.withLock { state in
            if !isConfirmed {
                state.unconfirmed = info.runID
            } else if state.unconfirmed == info.runID {
                state.unconfirmed = nil
            }
        }
    }

    /// The hosts in the order in which they are tried.
    func order(of hosts: [RedisServer.Host]) -> [RedisServer.Host] {
        self.state.withLock { $0.failures }.order(of: hosts, named: \.text)
    }

    func failed(_ host: RedisServer.Host) { self.state.withLock { $0.failures.failed(host.text) } }

    /// Checks what Sentinels know against what they knew before.
    func admit(configurationEpoch epoch: UInt64) throws(SessionError) {
        let isOld = self.state.withLock { state in
            guard epoch >= state.configurationEpoch else { return true }
            state.configurationEpoch = epoch
            return false
        }
        guard !isOld else { throw SessionError("the Sentinels that respond have missed a failover", .notPrimary) }
    }

    /// Checks that a server is no former primary. All connections use it from now on.
    func admit(_ info: ServerInfo, at host: RedisServer.Host) throws(SessionError) {
        let isFormer = self.state.withLock { state in
            guard !state.succeeded.contains(info.replicationID) else { return true }
            Self.note(info, in: &state)
            state.failures.succeeded(host.text)
            return false
        }
        guard !isFormer else {
            throw SessionError("this is a former primary; to use it all the same, restart this gateway", .notPrimary)
        }
    }

    /// Takes what a server says later about itself.
    ///
    /// - Throws: ``SessionError`` if the server is no primary any more, or another one has been used since.
    func learn(_ info: ServerInfo) throws(SessionError) {
        guard info.isPrimary else { throw SessionError("the server has become a replica", .notPrimary) }
        let isCurrent = self.state.withLock { state in
            guard state.info?.runID == info.runID else { return false }
            // Two connections ask at the same time: what the server said before it began a new history is no news.
            guard !state.succeeded.contains(info.replicationID) else { return true }
            Self.note(info, in: &state)
            return true
        }
        guard isCurrent else { throw .anotherPrimary }
    }

    private static func note(_ info: ServerInfo, in state: inout State) {
        if let known = state.info, known.replicationID != info.replicationID {
            state.succeeded.insert(known.replicationID)
        }
        if let earlier = info.earlierReplicationID { state.succeeded.insert(earlier) }
        if info.hasReplicas { state.replicated.insert(info.runID) }
        state.info = info
    }
}
