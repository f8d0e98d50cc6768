internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// A session with the primary, ready for calls.
struct ConnectedSession: ~Copyable {
    let session: Session
    let identity: SessionIdentity

    /// Connects to the first host that is a primary and no former one.
    ///
    /// - Parameter prepare: runs before the identity is read, at the first connection.
    /// - Throws: what each host said.
    static func open(
        _ server: PostgreSQLServer,
        _ role: Connection.Role,
        _ primary: PrimaryRecord,
        prepare: (borrowing Session) throws(SessionError) -> Void = { _ in }
    ) throws(SessionError) -> ConnectedSession {
        var failures: [(host: PostgreSQLServer.Host, error: SessionError)] = []
        for host in primary.order(of: server.hosts) {
            do throws(SessionError) {
                let deadline = ContinuousClock.now + Connection.connectLimit
                let session = try Session.connect(
                    server.parameters(for: host),
                    password: server.password,
                    by: deadline
                )
                try session.perform(Statement.settings(of: role), by: deadline)
                try prepare(session)
                try session.perform(Statement.preparations(of: role), by: deadline)
                let identity = try SessionIdentity(of: session, at: host, by: deadline)
                try primary.admit(identity, through: session, as: role)
                return ConnectedSession(session: session, identity: identity)
            } catch {
                primary.failed(host)
                failures.append((host, error))
            }
        }
        guard failures.count > 1 else { throw failures.first?.error ?? SessionError("no host") }
        // The most telling failure gives the code: what a primary said, rather than that a host is none.
        let telling = failures.first { $0.error.state != nil && !$0.error.endsSession } ?? failures[0]
        throw SessionError(
            failures.map { "\($0.host.text): \($0.error.message)" }.joined(separator: "; "),
            state: telling.error.state
        )
    }
}

extension Session {
    /// Runs statements of which none may fail.
    @discardableResult
    func perform(
        _ calls: [SessionCall],
        by deadline: ContinuousClock.Instant
    ) throws(SessionError) -> [CallResult.Table] {
        var tables: [CallResult.Table] = []
        for result in try self.run(calls, by: deadline) {
            switch result {
            case .done(let table): tables.append(table)
            case .failed(let error): throw error
            case .skipped: throw SessionError("a statement was skipped")
            }
        }
        return tables
    }

    /// The columns of the only row of a query without parameters, as text.
    func row(_ sql: String, by deadline: ContinuousClock.Instant) throws(SessionError) -> [String?] {
        let table = try self.perform([SessionCall(text: .plain(sql))], by: deadline).first
        return (table?.rows.first ?? []).map { column in column.map { String(decoding: $0, as: UTF8.self) } }
    }
}

/// Which server a session is with, and which of its processes serves it.
struct SessionIdentity: Equatable, Sendable {
    let host: PostgreSQLServer.Host
    /// Drawn when Martlet made its tables. It tells two databases apart that have nothing to do with each other.
    let databaseID: String
    /// Grows with each promotion of a standby (PostgreSQL, "Timelines"). An isolated former primary has a lower one.
    let timeline: UInt32
    /// Tells two servers of one timeline apart, and two runs of one server.
    let serverStart: String
    let processID: Int32

    /// Whether nothing can have fallen back between two sessions.
    func isSameServer(as other: SessionIdentity) -> Bool {
        self.timeline == other.timeline && self.serverStart == other.serverStart
    }

    init(
        of session: borrowing Session,
        at host: PostgreSQLServer.Host,
        by deadline: ContinuousClock.Instant
    ) throws(SessionError) {
        let row = try session.row(
            """
            SELECT (SELECT id FROM martlet.layout), substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), pg_backend_pid(),
                pg_postmaster_start_time()
            """,
            by: deadline
        )
        guard row.count == 4, let databaseID = row[0], let timeline = row[1].flatMap({ UInt32($0, radix: 16) }),
            let processID = row[2].flatMap({ Int32($0) }), let serverStart = row[3]
        else { throw SessionError("the server does not say which it is") }
        self.host = host
        self.databaseID = databaseID
        self.timeline = timeline
        self.processID = processID
        self.serverStart = serverStart
    }
}

/// The primary that the connections of one store object use.
///
/// After a failover the former primary may still be there, cut off from the others and open for reads. So once any
/// connection of the store has seen a later timeline, no connection uses an earlier one. And all connections use the server
/// to which the last of them has connected: two servers may have been promoted to one timeline.
final class PrimaryRecord: Sendable {
    private struct State {
        var databaseID: String?
        var timeline: UInt32 = 0
        var serverStart = ""
        var failures = HostFailures()
    }

    private let state = Mutex(State())

    /// Whether no other server has been seen since.
    func isCurrent(_ identity: SessionIdentity) -> Bool {
        self.state.withLock { $0.timeline == identity.timeline && $0.serverStart == identity.serverStart }
    }

    /// The hosts in the order in which they are tried.
    func order(of hosts: [PostgreSQLServer.Host]) -> [PostgreSQLServer.Host] {
        self.state.withLock { $0.failures }.order(of: hosts, named: \.text)
    }

    func failed(_ host: PostgreSQLServer.Host) { self.state.withLock { $0.failures.failed(host.text) } }

    /// Checks that a session is with the current primary.
    ///
    /// Where commits wait for a standby that is gone, or for a disk, every attempt to write would leave one more process
    /// behind on the server, of this process or of one that starts. So as long as a commit hangs there, no other write is
    /// sent.
    func admit(
        _ identity: SessionIdentity,
        through session: borrowing Session,
        as role: Connection.Role
    ) throws(SessionError) {
        if role == .writing {
            let hanging = try session.row(
                """
                SELECT count(*) FROM pg_stat_activity WHERE application_name = 'martlet' AND usename = current_user
                    AND datname = current_database() AND state = 'active' AND backend_xid IS NOT NULL
                    AND wait_event IS DISTINCT FROM 'ClientRead' AND state_change < clock_timestamp() - interval '1.5 s'
                """,
                by: .now + Connection.connectLimit
            )
            guard hanging == ["0"] else {
                throw SessionError(
                    "a commit has waited there for more than 1.5 s, for a synchronous standby or for the disk"
                )
            }
        }
        let refusal: String? = self.state.withLock { state in
            if let known = state.databaseID, known != identity.databaseID {
                return "this is another database; to use it, restart this gateway"
            }
            guard identity.timeline >= state.timeline else {
                return "this is a former primary; to use it all the same, restart this gateway"
            }
            (state.databaseID, state.timeline) = (identity.databaseID, identity.timeline)
            state.serverStart = identity.serverStart
            return nil
        }
        if let refusal { throw SessionError(refusal) }
        self.state.withLock { $0.failures.succeeded(identity.host.text) }
    }
}
