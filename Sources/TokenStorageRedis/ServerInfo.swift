internal import TokenModel

/// What a server says about itself in `INFO`. Managed servers forbid `CONFIG`, and permit this.
struct ServerInfo: Equatable, Sendable {
    /// Drawn at each start of the server.
    let runID: String
    /// Names a history of writes. A promoted replica draws a new one.
    let replicationID: String
    /// The history that the server has continued; `nil` if it began one of its own.
    let earlierReplicationID: String?
    let isPrimary: Bool
    let connectedReplicas: Int
    /// Whether the server refuses writes without replicas (`min-replicas-to-write`).
    let demandsReplicas: Bool
    let isCluster: Bool
    /// The server's wall clock, as `TIME` tells it too.
    let time: WallTime
    private let version: String
    private let evictionPolicy: String
    /// Whether the server has an append-only file.
    private let isAppending: Bool

    /// - Throws: ``SessionError`` if this is no answer to `INFO`.
    init(_ reply: RESPValue?) throws(SessionError) {
        guard let text = reply?.text else { throw SessionError("the server does not say what it is") }
        var fields: [Substring: Substring] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            fields[line[..<colon]] = line[line.index(after: colon)...]
        }
        guard let runID = fields["run_id"], let replicationID = fields["master_replid"], let role = fields["role"],
            let version = fields["redis_version"], let time = fields["server_time_usec"].flatMap({ Int64($0) })
        else { throw SessionError("the server does not say what it is") }
        self.runID = String(runID)
        self.replicationID = String(replicationID)
        self.earlierReplicationID = fields["master_replid2"].flatMap { id in
            id.allSatisfy { $0 == "0" } ? nil : String(id)
        }
        self.isPrimary = role == "master"
        self.connectedReplicas = fields["connected_slaves"].flatMap { Int($0) } ?? 0
        self.demandsReplicas = fields["min_slaves_good_slaves"] != nil
        self.isCluster = fields["cluster_enabled"] == "1"
        self.time = WallTime(millisecondsSince1970: time / 1_000)
        self.version = String(version)
        self.evictionPolicy = fields["maxmemory_policy"].map { String($0) } ?? "unknown"
        self.isAppending = fields["aof_enabled"] != "0"
    }

    /// Whether nothing can have fallen back between two connections.
    func isSameServer(as other: ServerInfo) -> Bool {
        self.runID == other.runID && self.replicationID == other.replicationID
    }

    /// Whether writes have to wait for a replica.
    var hasReplicas: Bool { self.connectedReplicas > 0 || self.demandsReplicas }

    /// - Throws: ``SessionError`` if this server is no primary, or would lose records.
    func check(for server: RedisServer) throws(SessionError) {
        guard let major = Int(self.version.prefix { $0 != "." }), major >= 7 else {
            throw SessionError("the server has version \(self.version); 7.0 or later is needed, or Valkey", .settings)
        }
        guard self.isPrimary else { throw SessionError("the server is a replica; name its primary too", .notPrimary) }
        guard self.evictionPolicy == "noeviction" else {
            throw SessionError(
                "the server may drop records to free memory; set maxmemory-policy to noeviction, not "
                    + self.evictionPolicy,
                .settings
            )
        }
        guard !self.isCluster || server.hasHashTag else {
            throw SessionError(
                "the server is part of a cluster, where a failover would lose some records and keep later ones; "
                    + "set store.prefix to a hash tag such as {martlet}:",
                .settings
            )
        }
    }

    /// What an operator should look at.
    var warnings: [String] {
        var warnings: [String] = []
        if !self.isAppending {
            warnings.append(
                "the store's server has no append-only file: a restart of the server loses the last writes; "
                    + "set appendonly yes, and appendfsync always"
            )
        }
        if self.connectedReplicas > 0, !self.demandsReplicas {
            warnings.append(
                "the store's server has replicas and takes writes without them: an isolated former primary goes on taking "
                    + "the writes of other programs; set min-replicas-to-write 1"
            )
        }
        return warnings
    }
}
