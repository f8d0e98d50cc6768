internal import FoundationEssentials
internal import Glibc
package import Testing

/// A PostgreSQL server from Debian's package, for tests: in a temporary directory, on a free port of loopback, with TLS.
///
/// It does not outlive this process. As PostgreSQL refuses to run as root, its programs run as the user `postgres` then.
package final class PostgreSQLTestServer: Sendable {
    /// The owner of the databases, who is no superuser.
    package static let user = "martlet"
    package static let password = "a-password-of-the-tests"

    /// The server that tests share, each with a database of its own. Don't stop it.
    package static func shared() async throws -> PostgreSQLTestServer { try await Self.starting.value }

    private static let starting = Task { try await PostgreSQLTestServer() }

    static var isInstalled: Bool {
        get throws {
            let versions = "/usr/lib/postgresql"
            let names =
                FileManager.default.fileExists(atPath: versions)
                ? try FileManager.default.contentsOfDirectory(atPath: versions) : []
            return ChildProcess.isInstalled("postgres", besides: names.map { "\(versions)/\($0)/bin" })
        }
    }

    package let port: Int
    private let directory: String

    /// Makes a server and starts it.
    ///
    /// - Parameter settings: lines of `postgresql.conf`.
    package convenience init(settings: [String] = []) async throws {
        try await self.init(settings) { directory in
            """
            as initdb --pgdata=\(directory)/data --username=postgres --auth=trust --no-sync --locale=C.UTF-8 \
                --encoding=UTF8
            """
        }
        try await self.sql("CREATE ROLE \(Self.user) LOGIN PASSWORD '\(Self.password)'")
    }

    /// Makes a standby of this server, and starts it.
    package func makeStandby() async throws -> PostgreSQLTestServer {
        let (source, port) = (self.directory, self.port)
        return try await PostgreSQLTestServer([]) { directory in
            """
            as pg_basebackup --pgdata=\(directory)/data --write-recovery-conf --checkpoint=fast --no-sync \
                --host=\(source) --port=\(port) --username=postgres
            """
        }
    }

    /// - Parameter making: the script that makes the files of the server, given its directory.
    private init(_ settings: [String], making: (_ directory: String) -> String) async throws {
        self.directory = "/tmp/martlet-postgresql-\(UInt64.random(in: .min ... .max))"
        self.port = try LoopbackPort.free()
        let certificates = [
            ("server.pem", TestCertificates.valid), ("server.key", TestCertificates.serverKey),
            ("roots.pem", TestCertificates.authority),
        ].map { name, text in "cat >\(name) <<'PEM'\n\(text)\nPEM" }
        let lines =
            [
                "port = \(self.port)", "listen_addresses = '127.0.0.1, 127.0.0.2'",
                "unix_socket_directories = '\(self.directory)'", "max_connections = 300", "shared_buffers = 32MB",
                "ssl = on", "ssl_cert_file = '\(self.directory)/server.pem'",
                "ssl_key_file = '\(self.directory)/server.key'",
            ] + settings
        try await Self.run(
            """
            mkdir -m 0700 \(self.directory) && cd \(self.directory)
            [ "$(id -u)" != 0 ] || chown postgres: .
            umask 077
            \(certificates.joined(separator: "\n"))
            [ "$(id -u)" != 0 ] || chown postgres: server.pem server.key
            \(making(self.directory))
            cat >>data/postgresql.conf <<'CONF'
            \(lines.joined(separator: "\n"))
            CONF
            cat >data/pg_hba.conf <<'HBA'
            local all postgres trust
            hostssl all all 127.0.0.0/8 scram-sha-256
            local replication all trust
            HBA
            as pg_ctl --pgdata=data --log=\(self.directory)/log --wait start
            # Ends the server after this process, however that ends.
            setsid sh -c 'while kill -0 \(getpid()) 2>/dev/null; do sleep 1; done
                kill -QUIT "$(head -1 data/postmaster.pid)"; rm -rf \(self.directory)' </dev/null >/dev/null 2>&1 &
            """
        )
    }

    /// The path of a file with the certificate of the authority that signed the server's.
    package var roots: String { "\(self.directory)/roots.pem" }

    /// Makes a database.
    ///
    /// - Returns: its name.
    package func makeDatabase(owner: String = PostgreSQLTestServer.user) async throws -> String {
        let name = "test_\(UInt64.random(in: .min ... .max))"
        try await self.sql("CREATE DATABASE \(name) OWNER \(owner)")
        return name
    }

    /// Runs statements as a superuser.
    ///
    /// - Returns: the rows, with `|` between columns.
    @discardableResult
    package func sql(_ text: String, in database: String = "postgres") async throws -> String {
        try await Self.run(
            """
            psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 --host \(self.directory) \
                --port \(self.port) --username postgres --dbname \(database) <<'SQL'
            \(text)
            SQL
            """
        ).trimmed
    }

    /// Stops the server at once, as a crash does.
    package func stop() async throws {
        try await Self.run("cd \(self.directory) && as pg_ctl --pgdata=data --mode=immediate --wait stop")
    }

    /// Starts the server after ``stop()``.
    package func start() async throws {
        try await Self.run("cd \(self.directory) && as pg_ctl --pgdata=data --log=\(self.directory)/log --wait start")
    }

    /// Holds all processes of the server, or lets them go on.
    package func hold(_ isHeld: Bool) async throws {
        try await Self.run(
            """
            server=$(head -1 \(self.directory)/data/postmaster.pid)
            kill -\(isHeld ? "STOP" : "CONT") "$server" $(ps -o pid= --ppid "$server")
            """
        )
    }

    /// Runs a shell script with the programs of PostgreSQL.
    @discardableResult
    private static func run(_ script: String) async throws -> String {
        try await ChildProcess.runScript(
            """
            PATH=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1):$PATH
            as() {
                if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --init-groups "$@"; else "$@"; fi
            }
            \(script)
            """
        )
    }
}

extension String {
    fileprivate var trimmed: String { String(self.trimmingPrefix(while: \.isWhitespace)).droppingLast }
    private var droppingLast: String {
        var text = self
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips tests where the server is not installed. Where it is installed and doesn't start, they fail.
    package static var needsPostgreSQL: Self {
        .enabled("PostgreSQL is not installed; scripts/setup installs it") {
            try PostgreSQLTestServer.isInstalled
        }
    }
}
