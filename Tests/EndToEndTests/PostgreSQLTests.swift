import Foundation
import TestKit
import Testing

/// Gateways of several hosts, each with a state directory of its own, on one PostgreSQL database.
@Suite(.needsPostgreSQL) struct PostgreSQLTests {
    private let server: PostgreSQLTestServer
    private let database: String

    init() async throws {
        self.server = try await PostgreSQLTestServer.shared()
        self.database = try await self.server.makeDatabase()
    }

    /// One host: a directory with the files of a gateway.
    private func host(_ key: String, password: String = PostgreSQLTestServer.password) throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        for (name, text) in [("pg.pass", password), ("sealing.key", key)] {
            try directory.write(Array("\(text)\n".utf8), to: name)
            try directory.setMode(0o600, of: name)
        }
        return directory
    }

    private func settings(
        of directory: TemporaryDirectory,
        named name: String = "a",
        address: String = "127.0.0.1",
        port: Int? = nil,
        database: String? = nil
    ) -> String {
        """
        replica: { name: \(name), lease: 3s }
        store:
          driver: postgres
          url: "postgres://\(PostgreSQLTestServer.user)@\(address):\(port ?? self.server.port)/\(database ?? self.database)"
          password: { file: pg.pass }
          ca: \(self.server.roots)
          sealing_key: { file: \(directory.path(of: "sealing.key")) }
        """
    }

    private static var key: String { Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString() }

    private func gateway(
        _ name: String,
        _ mock: Mock,
        in directory: TemporaryDirectory
    ) async throws -> Gateway {
        try await Gateway(mock, in: directory, more: self.settings(of: directory, named: name))
    }

    @Test func `what a locked gateway has noted stays until the audit log takes it`() async throws {
        // Given a locked gateway that has noted a wrong key, and a database that takes one more entry of the audit log
        let directory = try self.host(Self.key)
        let mock = try await Mock(in: directory)
        let gateway = try await self.gateway("a", mock, in: directory)
        #expect(try await gateway.martlet("lock", "--reason", "drill").exitCode == 0)
        try directory.write(Array("\(String(repeating: "A", count: 43))=\n".utf8), to: "wrong.key")
        try directory.setMode(0o600, of: "wrong.key")
        #expect(try await gateway.martlet("unlock", "--key-file", directory.path(of: "wrong.key")).exitCode != 0)
        try await self.server.sql(
            """
            CREATE SEQUENCE public.taken;
            CREATE FUNCTION public.limited() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS
            $$ BEGIN IF nextval('public.taken') > 1 THEN RAISE 'no more'; END IF; RETURN NEW; END $$;
            CREATE TRIGGER limited BEFORE INSERT ON martlet.record FOR EACH ROW
            WHEN (substring(NEW.key FROM 1 FOR 6) = 'audit/'::bytea) EXECUTE FUNCTION public.limited();
            """,
            in: self.database
        )
        let unlock = try await gateway.martlet("unlock")
        #expect(unlock.exitCode == 0, "\(unlock.errors)")
        #expect(try await !gateway.martlet("audit").output.contains("wrong_key"))

        // When it is unlocked again, with a database that takes all
        try await self.server.sql("DROP TRIGGER limited ON martlet.record", in: self.database)
        #expect(try await gateway.martlet("lock", "--reason", "drill").exitCode == 0)
        #expect(try await gateway.martlet("unlock").exitCode == 0)

        // Then the audit log has it
        let audit = try await gateway.martlet("audit").output
        #expect(audit.contains("wrong_key"), "\(audit)")
        withExtendedLifetime(mock) {}
    }

    @Test func `two hosts share accounts, refreshes and kills`() async throws {
        // Given gateways on two hosts, and a grant that was imported at one of them
        let key = Self.key
        let (first, second) = (try self.host(key), try self.host(key))
        let mock = try await Mock("--rotate", "--reuse-detection", in: first)
        let a = try await self.gateway("a", mock, in: first)
        let b = try await self.gateway("b", mock, in: second)
        try await a.importGrant(from: mock)
        try await eventually("the grant to arrive") { try await b.statuses(1, "echo") == ["200": 1] }

        // When its token expires under requests to both
        try await mock.expire()
        async let atA = a.statuses(50, "echo")
        async let atB = b.statuses(50, "echo")

        // Then there is one refresh
        #expect(try await [atA, atB] == [["200": 50], ["200": 50]])
        let stats = try await mock.stats()
        #expect(stats.token_requests.ok == 1)
        #expect(stats.reuse_detections == 0)
        let deadBefore = stats.dead_uses.count
        #expect(
            try await a.martlet("status").output.contains(
                "no standby or replica confirms writes: a failover may lose the last ones"
            )
        )

        // When one is asked for a kill
        let kill = try await a.martlet("kill", "--all", "--reason", "drill")

        // Then it is complete, and holds at the other
        #expect(kill.exitCode == 0, "\(kill.output)")
        #expect(try await b.curl("echo").contains("urn:martlet:error:killed"))
        #expect(try await mock.stats().dead_uses.count == deadBefore)
    }

    @Test func `I16_no token is in the database or in a log`() async throws {
        let directory = try self.host(Self.key)
        let mock = try await Mock("--rotate", in: directory)
        let gateway = try await self.gateway("a", mock, in: directory)
        let grant = try await mock.grant("alice")
        _ = try await gateway.martlet("accounts", "import", "alice", input: grant)
        #expect(try await gateway.martlet("accounts", "refresh", "alice").exitCode == 0)

        let tokens = try JSONDecoder().decode(Grant.self, from: Data(grant.utf8))
        let canaries = [tokens.refresh_token, tokens.access_token, PostgreSQLTestServer.password]
        for canary in canaries {
            let found = try await self.server.sql(
                "SELECT count(*) FROM martlet.record WHERE position(convert_to('\(canary)', 'UTF8') IN value) > 0",
                in: self.database
            )
            #expect(found == "0")
            #expect(!gateway.program.complaints.contains(canary))
        }
        #expect(try await self.server.sql("SELECT count(*) > 2 FROM martlet.record", in: self.database) == "t")
    }

    private struct Grant: Decodable {
        let refresh_token: String
        let access_token: String
    }

    enum BadInput: String, CaseIterable {
        case unreachable, wrongPassword, noPassword, missingDatabase, otherHost, otherProgram, laterVersion, noRights
    }

    @Test(arguments: BadInput.allCases)
    func `a database that can't be used is named in one line, and nothing is made`(bad: BadInput) async throws {
        let directory = try self.host(
            Self.key,
            password: bad == .wrongPassword ? "wrong" : PostgreSQLTestServer.password
        )
        var settings = self.settings(of: directory)
        var (code, text): (Int32, String) = (78, "")
        switch bad {
        case .unreachable:
            settings = self.settings(of: directory, port: 1)
            (code, text) = (69, "port 1 failed: Connection refused")
        case .wrongPassword: text = "password authentication failed"
        case .noPassword:
            settings = settings.replacing("  password: { file: pg.pass }\n", with: "")
            text = "the server asks for one: set store.password"
        case .missingDatabase:
            settings = self.settings(of: directory, database: "nowhere")
            text = "CREATE DATABASE nowhere OWNER martlet"
        case .otherHost:
            settings = self.settings(of: directory, address: "127.0.0.2")
            text = "does not match host name"
        case .otherProgram:
            try await self.server.sql("CREATE SCHEMA martlet CREATE TABLE birds (name text)", in: self.database)
            text = "tables of another program"
        case .laterVersion:
            try await self.server.sql(
                "CREATE SCHEMA martlet CREATE TABLE record () CREATE TABLE layout (version int)",
                in: self.database
            )
            try await self.server.sql("INSERT INTO martlet.layout VALUES (9)", in: self.database)
            try await self.server.sql("GRANT USAGE ON SCHEMA martlet TO martlet", in: self.database)
            try await self.server.sql("GRANT SELECT ON martlet.layout TO martlet", in: self.database)
            text = "its tables are of version 9"
        case .noRights:
            let database = try await self.server.makeDatabase(owner: "postgres")
            settings = self.settings(of: directory, database: database)
            text = "GRANT CREATE ON DATABASE \(database) TO martlet"
        }
        let before = try await self.tables()
        try Gateway.configure("http://127.0.0.1:9", in: directory, more: settings)

        let outcome = try await Program.run("martlet", ["serve", "--config", "martlet.yaml"], in: directory)

        #expect(outcome.exitCode == code)
        let last = outcome.errors.split(separator: "\n").filter { !$0.hasPrefix("{") }
        #expect(last.count == 1)
        #expect(last.first?.contains(text) == true, "\(outcome.errors)")
        #expect(try await self.tables() == before)
    }

    private func tables() async throws -> String {
        try await self.server.sql(
            "SELECT string_agg(tablename, ',' ORDER BY tablename) FROM pg_tables WHERE schemaname = 'martlet'",
            in: self.database
        )
    }

    @Test func `the sealing key is changed in two phases over two hosts`() async throws {
        // Given two gateways with a copy of the key each
        let key = Self.key
        let (first, second) = (try self.host(key), try self.host(key))
        let mock = try await Mock("--rotate", "--reuse-detection", in: first)
        let a = try await self.gateway("a", mock, in: first)
        let b = try await self.gateway("b", mock, in: second)
        try await a.importGrant(from: mock)
        func store(_ arguments: String...) async throws -> Program.Outcome {
            try await Program.run("martlet", ["store"] + arguments + ["--config", "martlet.yaml"], in: first)
        }

        // When the key is changed on one host
        let waiting = try await store("rekey")

        // Then the other is named, and nothing has changed for it
        #expect(waiting.exitCode == 1)
        #expect(waiting.errors.contains("do not have key"), "\(waiting.errors)")
        #expect(waiting.errors.contains(": b ("), "\(waiting.errors)")
        #expect(try await b.martlet("accounts", "refresh", "alice").exitCode == 0)
        #expect(try await store("verify").output.contains("(next) seals 0 of"))

        // When the file is copied there, and the change is made again
        try second.write(try #require(first.bytes(of: "sealing.key")), to: "sealing.key")
        let changed = try await store("rekey")

        // Then all records are under the new key, and the old one can go
        #expect(changed.exitCode == 0, "\(changed.errors)")
        #expect(changed.output.contains("sealed anew under key"))
        for gateway in [a, b] { #expect(try await gateway.martlet("accounts", "refresh", "alice").exitCode == 0) }
        let retired = try await store("rekey", "--retire")
        #expect(retired.exitCode == 0, "\(retired.errors)")
        #expect(retired.output.contains("was taken out"), "\(retired.output)")
        for gateway in [a, b] { #expect(try await gateway.statuses(5, "echo") == ["200": 5]) }
        #expect(try await mock.stats().reuse_detections == 0)
    }
}
