internal import Glibc
package import Testing

/// A Redis server from Debian's package, for tests: in a temporary directory, on a free port of loopback, with TLS. Each
/// write is on disk before it is acknowledged.
///
/// It does not outlive this process.
package final class RedisTestServer: Sendable {
    /// The user of Martlet, with the rights that its documentation names and no others, on the keys that begin with
    /// ``prefix``.
    package static let user = "martlet"
    package static let password = "a-password-of-the-tests"
    package static let prefix = "martlet:"

    private static let rights = """
        resetkeys ~\(RedisTestServer.prefix)* ~{martlet}:* resetchannels &\(RedisTestServer.prefix)* &{martlet}:* -@all \
        +select +info +wait +eval +publish +subscribe \
        +hmget +hlen +hset +hdel +zadd +zrem +zrange +zscore +zcard
        """

    /// The server that tests share, each with a prefix of its own. Don't stop it.
    package static func shared() async throws -> RedisTestServer { try await Self.starting.value }

    private static let starting = Task { try await RedisTestServer() }

    package let port: Int
    private let directory: String
    private let isSentinel: Bool
    /// How an administrator logs in, where the default user is off.
    private let login: String

    /// Makes a server and starts it.
    ///
    /// - Parameter settings: lines of `redis.conf`.
    package convenience init(settings: [String] = []) async throws {
        try await self.init(settings, isSentinel: false)
    }

    /// Makes a replica of this server, its only one, starts it, and waits until this server counts on it.
    package func makeReplica() async throws -> RedisTestServer {
        let replica = try await RedisTestServer(["replicaof 127.0.0.1 \(self.port)"], isSentinel: false)
        // Not until the replica says that it has a copy: this server learns that later, and until then it refuses writes
        // that need a replica. The wait is for what was published before on the same connection.
        try await ChildProcess.runScript("printf 'PUBLISH nobody here\\nWAIT 1 0\\n' | \(self.administration)")
        return replica
    }

    /// Makes a Sentinel that watches this server under the name `martlet`, and starts it.
    ///
    /// - Parameters:
    ///   - quorum: how many Sentinels must agree that the server is gone.
    ///   - port: `nil` takes a free one.
    package func makeSentinel(quorum: Int, port: Int? = nil) async throws -> RedisTestServer {
        try await RedisTestServer(
            [
                "sentinel monitor martlet 127.0.0.1 \(self.port) \(quorum)",
                // Whoever wants a failover lowers this: on a busy machine a short pause may look like an outage.
                "sentinel down-after-milliseconds martlet 60000",
                "sentinel failover-timeout martlet 3000",
            ],
            isSentinel: true,
            port: port
        )
    }

    private init(_ settings: [String], isSentinel: Bool, port: Int? = nil) async throws {
        self.directory = "/tmp/martlet-redis-\(UInt64.random(in: .min ... .max))"
        self.port = if let port { port } else { try LoopbackPort.free() }
        self.isSentinel = isSentinel
        self.login = settings.contains("user default off") ? " --no-auth-warning --user admin --pass any" : ""
        let certificates = [
            ("server.pem", TestCertificates.valid), ("server.key", TestCertificates.serverKey),
            ("roots.pem", TestCertificates.authority), ("client.pem", TestCertificates.client),
            ("client.key", TestCertificates.clientKey),
            ("all.pem", "\(TestCertificates.authority)\n\(TestCertificates.clientAuthority)"),
        ].map { name, text in "cat >\(name) <<'PEM'\n\(text)\nPEM" }
        let ofServer = [
            "appendonly yes", "appendfsync always", "save \"\"", "unixsocket \(self.directory)/socket",
            "repl-diskless-sync-delay 0", "user \(Self.user) on >\(Self.password) \(Self.rights)",
        ]
        let lines =
            [
                "port 0", "tls-port \(self.port)", "bind 127.0.0.1 127.0.0.2", "dir \(self.directory)",
                "tls-cert-file \(self.directory)/server.pem", "tls-key-file \(self.directory)/server.key",
                "tls-ca-cert-file \(self.directory)/all.pem", "tls-auth-clients no", "tls-replication yes",
                // Nodes of a cluster demand a certificate of each other.
                "tls-cluster yes", "tls-client-cert-file \(self.directory)/client.pem",
                "tls-client-key-file \(self.directory)/client.key", "daemonize yes", "pidfile \(self.directory)/pid",
                "logfile \(self.directory)/log",
            ] + (isSentinel ? [] : ofServer) + settings
        try await ChildProcess.runScript(
            """
            mkdir -m 0700 \(self.directory) && cd \(self.directory)
            umask 077
            \(certificates.joined(separator: "\n"))
            cat >redis.conf <<'CONF'
            \(lines.joined(separator: "\n"))
            CONF
            # Ends the server after this process, however that ends.
            setsid sh -c 'while kill -0 \(getpid()) 2>/dev/null; do sleep 1; done
                [ "$(readlink "/proc/$(cat pid)/cwd")" != \(self.directory) ] || kill -KILL "$(cat pid)"
                rm -rf \(self.directory)' </dev/null >/dev/null 2>&1 &
            """
        )
        try await self.start()
    }

    /// The path of a file with the certificate of the authority that signed the server's.
    package var roots: String { "\(self.directory)/roots.pem" }

    /// Runs a command as an administrator.
    ///
    /// - Returns: the reply, a text as it is.
    @discardableResult
    package func command(_ words: [String]) async throws -> String {
        let quoted = words.map { "'\($0.replacing("'", with: #"'\''"#))'" }.joined(separator: " ")
        return try await ChildProcess.runScript("\(self.administration) \(quoted)")
    }

    /// The program that runs commands as an administrator.
    private var administration: String {
        let place =
            self.isSentinel
            ? "--tls --cacert \(self.roots) -h 127.0.0.1 -p \(self.port)" : "-s \(self.directory)/socket\(self.login)"
        return "redis-cli -e --raw \(place)"
    }

    /// Runs a command as an administrator.
    @discardableResult
    package func command(_ words: String...) async throws -> String { try await self.command(words) }

    /// Kills the server.
    package func stop() async throws {
        try await ChildProcess.runScript(
            """
            cd \(self.directory)
            server=$(cat pid)
            kill -KILL "$server"
            while kill -0 "$server" 2>/dev/null && [ "$(ps -o stat= -p "$server" | cut -c1)" != Z ]; do sleep 0.01; done
            rm -f pid
            """
        )
    }

    /// Starts the server after ``stop()``.
    package func start() async throws {
        let sentinel = self.isSentinel ? " --sentinel" : ""
        try await ChildProcess.runScript(
            """
            cd \(self.directory)
            rm -f pid
            redis-server \(self.directory)/redis.conf\(sentinel) || { tail -n 5 log; exit 1; }
            """
        )
        try await eventually("the server") {
            let info = try await ChildProcess.runScript("\(self.administration) INFO 2>/dev/null || true")
            return info.contains("process_id:") && !info.contains("loading:1")
        }
    }

    /// Holds the server, or lets it go on.
    package func hold(_ isHeld: Bool) async throws {
        try await ChildProcess.runScript("kill -\(isHeld ? "STOP" : "CONT") \"$(cat \(self.directory)/pid)\"")
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips tests where the server is not installed. Where it is installed and doesn't start, they fail.
    package static var needsRedis: Self {
        .enabled("Redis is not installed; scripts/setup installs it") {
            ChildProcess.isInstalled("redis-server")
        }
    }
}
