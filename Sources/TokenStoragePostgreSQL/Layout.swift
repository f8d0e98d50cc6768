internal import TokenModel
internal import TokenStorage

/// The schema `martlet` of a database: its tables, and how they are made.
///
/// `layout` has one row: the version of the tables, and an id of this database. `record` has the records. Its keys are
/// bytes, which PostgreSQL compares one by one. Values are ciphertext, which does not compress. The free part of each page
/// lets an update stay on its page, without a change to the index.
enum Layout {
    private static let version = 1
    /// Serializes the processes that make the tables; the number is `MRTL` in ASCII.
    private static let locking = "SELECT pg_catalog.pg_advisory_xact_lock(\(0x4D52_544C)::bigint)"

    /// What is in the schema of that name.
    private enum Finding: String {
        /// There is no such schema.
        case nothing
        /// An administrator has made the schema for Martlet.
        case empty
        case layout
        case other
    }

    /// Makes the tables where they are missing. Changes nothing if it throws.
    ///
    /// - Parameter createsMissing: whether missing tables are made.
    static func prepare(
        _ session: borrowing Session,
        createsMissing: Bool,
        by deadline: ContinuousClock.Instant
    ) throws(SessionError) {
        let found = try self.look(session, by: deadline)
        switch found {
        case .layout: try self.checkVersion(session, by: deadline)
        case .other: throw .otherProgram
        case .nothing, .empty:
            guard createsMissing else { throw .noTables }
            let schema = found == .nothing ? ["CREATE SCHEMA martlet"] : []
            do throws(SessionError) {
                let statements = [self.locking] + schema + self.creation
                try session.perform(statements.map { SessionCall(text: .plain($0)) }, by: deadline)
            } catch {
                // Another process was faster.
                guard try self.look(session, by: deadline) == .layout else { throw error }
                try self.checkVersion(session, by: deadline)
            }
        }
    }

    private static func look(
        _ session: borrowing Session,
        by deadline: ContinuousClock.Instant
    ) throws(SessionError) -> Finding {
        let row = try session.row(
            """
            SELECT CASE WHEN count(n.oid) = 0 THEN 'nothing' WHEN count(c.oid) = 0 THEN 'empty'
                WHEN count(*) FILTER (WHERE relname IN ('layout', 'record')) = 2 THEN 'layout' ELSE 'other' END
            FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid WHERE nspname = 'martlet'
            """,
            by: deadline
        )
        return row.first.flatMap { $0 }.flatMap { Finding(rawValue: $0) } ?? .other
    }

    private static func checkVersion(
        _ session: borrowing Session,
        by deadline: ContinuousClock.Instant
    ) throws(SessionError) {
        let found = try session.row("SELECT version FROM martlet.layout", by: deadline).first.flatMap { $0 }
        guard let version = found.flatMap({ Int($0) }) else { throw .otherProgram }
        guard version == self.version else { throw .laterVersion(version, known: self.version) }
    }

    /// One transaction: either all is made or nothing.
    private static let creation = [
        """
        CREATE TABLE martlet.record (key bytea PRIMARY KEY, version bigint NOT NULL, value bytea NOT NULL)
            WITH (fillfactor = 70)
        """,
        "ALTER TABLE martlet.record ALTER COLUMN value SET STORAGE EXTERNAL",
        """
        CREATE TABLE martlet.layout (
            singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton), version integer NOT NULL, id uuid NOT NULL
        )
        """,
        "INSERT INTO martlet.layout (version, id) VALUES (\(Self.version), gen_random_uuid())",
    ]
}

extension SessionError {
    static let otherProgram = SessionError(
        "its schema martlet has tables of another program; name another database in store.url",
        state: "MR001"
    )
    static let noTables = SessionError(
        "the database has no tables of Martlet yet; they are made when a gateway first starts",
        state: "MR002"
    )

    static func laterVersion(_ version: Int, known: Int) -> SessionError {
        SessionError(
            "its tables are of version \(version), and this Martlet knows version \(known); use a later Martlet",
            state: "MR003"
        )
    }

    /// Whether the session is of no use any more after this error.
    var endsSession: Bool {
        guard let state else { return false }
        // Connection exceptions, an operator's or a crash's end of the session, and a server that became a standby.
        return state.hasPrefix("08") || state.hasPrefix("57P") || state == "25006"
    }
}

extension StoreError {
    /// Translates a failure. The message has no statement and no value.
    init(_ error: SessionError, isWrite: Bool, database: String) {
        let (code, advice) = Self.meaning(of: error, isWrite: isWrite)
        let state = error.state.map { $0.hasPrefix("MR") || error.message.contains($0) ? "" : " (\($0))" } ?? ""
        self.init(code, "\(database): \(error.message)\(state)\(advice)")
    }

    private static func meaning(of error: SessionError, isWrite: Bool) -> (Code, advice: String) {
        // What was sent may be done all the same.
        guard !error.wasSent else { return (.unreachable, "") }
        return switch error.state {
        case "53100", "58030":
            (isWrite ? .unwritable : .unreachable, "; free space on the server's disk, or look at it")
        case "42501":
            (isWrite ? .unwritable : .unreachable, "; the user needs its rights on the schema martlet again")
        default: (.unreachable, "")
        }
    }

    /// Translates a failure to open. Here a refusal that does not pass by itself is told apart from an outage.
    init(opening error: SessionError, _ server: PostgreSQLServer) {
        let (code, advice): (Code, String) =
            switch error.state {
            case "28P01", "28000":
                (.unwritable, "; correct the user in store.url, store.password, or the server's pg_hba.conf")
            case "3D000": (.unreadable, "; create it with: CREATE DATABASE \(server.database) OWNER \(server.user)")
            case "42501":
                (
                    .unwritable,
                    "; the database's owner can permit it: GRANT CREATE ON DATABASE \(server.database) TO \(server.user), "
                        + "or, if there is a schema martlet already: ALTER SCHEMA martlet OWNER TO \(server.user)"
                )
            case "53100", "58030": (.unwritable, "; free space on the server's disk, or look at it")
            case "MR001", "MR002", "MR003", "42P01", "42703": (.unreadable, "")
            case nil where error.message.contains("no password supplied"):
                (.unwritable, "; the server asks for one: set store.password")
            default:
                error.message.contains("certificate") || error.message.contains("does not support SSL")
                    ? (.unwritable, "; see store.ca and sslmode in store.url") : (.unreachable, "")
            }
        self.init(code, "can't open: \(error.message)\(advice)")
    }
}
