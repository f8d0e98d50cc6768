internal import TextCoding
internal import TokenModel
internal import TokenStorage

/// The statements on records. Each is prepared once for a connection.
///
/// Versions are unsigned 64-bit numbers and PostgreSQL's integers are signed, so the bit pattern is stored. SQL only
/// tests versions for equality, where the sign does not matter.
enum Statement: String, CaseIterable, Sendable {
    case read, page, insert, update, remove, notify, condition

    /// The channel of `NOTIFY`.
    static let channel = "martlet"

    var sql: String {
        switch self {
        case .read:
            "SELECT version, value FROM martlet.record WHERE key = $1"
        case .page:
            // The size of a value is found without reading it, so a page costs no more than what it returns.
            """
            SELECT key, version, value FROM (
                SELECT key, version, value,
                    sum(octet_length(value)) OVER (ORDER BY key ROWS UNBOUNDED PRECEDING) AS bytes,
                    row_number() OVER (ORDER BY key) AS place
                FROM (
                    SELECT key, version, value FROM martlet.record WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3
                ) AS found
            ) AS page WHERE bytes <= \(StoreGuarantees.largestPage) OR place = 1 ORDER BY key
            """
        case .insert:
            "INSERT INTO martlet.record (key, version, value) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
        case .update:
            "UPDATE martlet.record SET version = $2, value = $3 WHERE key = $1 AND version = $4"
        case .remove:
            "DELETE FROM martlet.record WHERE key = $1 AND version = $2"
        case .notify:
            "SELECT pg_catalog.pg_notify('\(Self.channel)', $1)"
        case .condition:
            """
            SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
                current_setting('synchronous_standby_names') <> '' AND current_setting('fsync')::boolean,
                CASE WHEN pg_has_role('pg_read_all_stats', 'USAGE') THEN
                    (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')) END
            """
        }
    }

    /// The settings of a session, which come before everything else.
    static func settings(of role: Connection.Role) -> [SessionCall] {
        let settings = [
            ("search_path", "pg_catalog"),
            // A write is acknowledged when it is durable, on the synchronous standby too if there is one. A hint
            // (``notify``) need not be durable, and must not wait for the standby.
            ("synchronous_commit", role == .writing ? "on" : "off"),
            // Others hold the lock of a record as long as their commit takes.
            ("lock_timeout", "300"), ("statement_timeout", "1500"), ("idle_in_transaction_session_timeout", "5000"),
            ("default_transaction_isolation", "'read committed'"),
            // What a host that is gone has sent in part holds its locks until the server notices.
            ("tcp_keepalives_idle", "5"), ("tcp_keepalives_interval", "2"), ("tcp_keepalives_count", "3"),
        ]
        return settings.map { SessionCall(text: .plain("SET \($0.0) = \($0.1)")) }
    }

    /// What a session needs for calls, once the tables are there: its statements, and the channel it listens to.
    static func preparations(of role: Connection.Role) -> [SessionCall] {
        let listening = role == .reading ? [SessionCall(text: .plain("LISTEN \(Self.channel)"))] : []
        return Self.allCases.map { SessionCall(text: .preparing($0.rawValue, sql: $0.sql)) } + listening
    }
}

/// Values in PostgreSQL's binary format.
enum BinaryValue {
    static func integer(_ value: Int64) -> [UInt8] { value.bigEndianBytes }
    static func version(_ version: Version) -> [UInt8] { version.rawValue.bigEndianBytes }

    /// - Returns: `nil` for anything but eight bytes.
    static func integer(from bytes: [UInt8]?) -> Int64? {
        guard let bytes, bytes.count == 8 else { return nil }
        return Int64(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) })
    }

    static func flag(from bytes: [UInt8]?) -> Bool { bytes == [1] }
}

extension StoredRecord {
    /// The record in two columns, a version and a value.
    init?(_ version: [UInt8]?, _ value: [UInt8]?) {
        guard let version = BinaryValue.integer(from: version), let value else { return nil }
        self.init(version: Version(UInt64(bitPattern: version)), value: SealedBytes(bytes: value))
    }
}

/// A hint about a written record, as the text of a `NOTIFY`: the version in hexadecimal digits, and the key in Base64.
enum HintText {
    static func of(_ change: RecordChange) -> String {
        let version = change.version.map { String($0.rawValue, radix: 16) } ?? ""
        return "\(version) \(Base64.urlSafeText(change.key.rawValue.utf8))"
    }

    /// `nil` for any other text: whoever may connect to the database may notify.
    static func change(from text: String) -> RecordChange? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 2, let bytes = Base64.decodeURLSafe(Array(parts[1].utf8).span),
            let key = String(validating: bytes, as: UTF8.self), !key.isEmpty
        else { return nil }
        return RecordChange(key: RecordKey(rawValue: key), version: UInt64(parts[0], radix: 16).map { Version($0) })
    }
}
