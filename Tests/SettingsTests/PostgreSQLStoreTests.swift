import Settings
import Testing

@Suite struct PostgreSQLStoreTests {
    private static let key = "sealing_key: { file: /etc/martlet/sealing.key }"

    private func store(_ lines: String, secrets: [String: String] = [:]) throws -> PostgreSQLSettings {
        let text = SampleFile().adding("store: { driver: postgres, \(Self.key), \(lines) }").text
        let read = try settings(of: text, secrets: secrets)
        guard case .single(.postgres(let store), sealingKey: .file("/etc/martlet/sealing.key")) = read.store else {
            throw WrongStore()
        }
        return store
    }

    private struct WrongStore: Error {}

    @Test func `a URL names the user, the hosts and the database`() throws {
        let store = try self.store(#"url: "postgres://mart%6Cet@db1.example,[2001:db8::1]:5433/tokens""#)

        #expect(store.user == "martlet")
        #expect(store.database == "tokens")
        #expect(store.hosts.map(\.name) == ["db1.example", "2001:db8::1"])
        #expect(store.hosts.map(\.port) == [5432, 5433])
        #expect(store.password == nil)
        #expect(store.certificateAuthorities == nil)
    }

    @Test(arguments: [
        ("postgres://m@db/t", true), ("postgresql://m@db/t?sslmode=verify-full", true),
        ("postgres://m@127.0.0.1,[::1]/t?sslmode=disable", false), ("postgres://m@/t?host=%2Frun%2Fpostgresql", false),
        ("postgres://m@localhost/t", true), ("postgres://m@db/t?target_session_attrs=read-write", true),
    ])
    func `the connection is encrypted unless the file says otherwise`(url: String, isEncrypted: Bool) throws {
        #expect(try self.store("url: \"\(url)\"").isEncrypted == isEncrypted)
    }

    @Test func `a socket's directory is a host`() throws {
        let store = try self.store(#"url: "postgres://m@/t?host=/run/postgresql""#)
        #expect(store.hosts.map(\.name) == ["/run/postgresql"])
    }

    @Test func `a password comes from a file`() throws {
        let store = try self.store(
            #"url: "postgres://m@db/t", password: { file: pg.pass }"#,
            secrets: ["/etc/martlet/pg.pass": "a-password"]
        )
        #expect(store.password?.origin == .file("/etc/martlet/pg.pass"))
    }

    @Test func `cleartext to another machine can be allowed`() throws {
        let store = try self.store(#"url: "postgres://m@db/t?sslmode=disable", allow_cleartext: true"#)
        #expect(!store.isEncrypted)
    }

    @Test(arguments: [
        ("mysql://m@db/t", "expected a URL with postgres://"),
        ("postgres://m@db", "names no database: …/DATABASE"),
        ("postgres://m@db/", "names no database: …/DATABASE"),
        ("postgres://db/t", "names no user: postgres://USER@…"),
        ("postgres://m:s3cr3t@db/t", "must not hold a password; use password: { file: PATH } or { env: NAME }"),
        ("postgres://m@db:0/t", "has port 0"),
        ("postgres://m@db,/t", "has no host"),
        ("postgres://m@d b/t", "has a host that is neither a name nor an address"),
        (
            "postgres://m@db/t?sslmode=require",
            "has an sslmode that does not prove who the server is; there are verify-full (the default) and disable"
        ),
        ("postgres://m@db/t?connect_timeout=1", "has a parameter that is not supported; there are sslmode and host"),
        (
            "postgres://m@db/t?host=/run",
            "has a parameter host that is no directory of a Unix socket, or another host too"
        ),
        ("postgres://m@db/t%zz", "has a part that is empty or not percent-encoded correctly"),
        ("postgres://m@a,b,c,d,e,f,g,h,i/t", "names more than 8 hosts"),
        (
            "postgres://m@db/t?sslmode=disable",
            "has sslmode=disable for a host that is not loopback: records are sealed, but who is in between could read the password, and change or drop what is written; use TLS, or set allow_cleartext: true"
        ),
    ])
    func `a wrong URL is reported`(url: String, fault: String) {
        let text = SampleFile().adding("store: { driver: postgres, \(Self.key), url: \"\(url)\" }").text
        #expect(faults(of: text).map { String($0.drop { $0 != " " }.dropFirst()) } == ["store.url: \(fault)"])
    }

    @Test func `what is missing is reported`() {
        #expect(
            faults(of: SampleFile().adding("store: { driver: postgres }").text) == [
                "12:1: store: sealing_key is missing: replicas share this store, so make one key and give it to all of them",
                "12:1: store: url is missing",
            ]
        )
    }

    @Test func `a key or a password in the file itself is refused and not repeated`() {
        let text = SampleFile().adding(
            "store: { driver: postgres, url: \"postgres://m@db/t\", password: s3cr3t, sealing_key: c2VjcmV0 }"
        ).text
        let found = faults(of: text)
        #expect(found.count == 2)
        #expect(found.allSatisfy { !$0.contains("s3cr3t") && !$0.contains("c2VjcmV0") })
    }

    @Test func `the sealing key may come from the environment, also for SQLite`() throws {
        let text = SampleFile().adding("store: { sealing_key: { env: KEYS } }").text
        let read = try settings(of: text, variables: ["HOME": "/home/me", "KEYS": "c2VjcmV0"])
        guard case .single(.sqlite, sealingKey: .given(let secret)) = read.store else {
            Issue.record("another store")
            return
        }
        #expect(secret.origin == .variable("KEYS"))
    }

    @Test func `the two ways to name the key's file exclude each other`() {
        let text = SampleFile().adding("store: { sealing_key: { file: a }, sealing_key_file: a }").text
        #expect(faults(of: text).map { $0.contains("is the same as sealing_key.file; write one of them") } == [true])
    }

    @Test func `keys of another driver have no effect, and that is a warning`() throws {
        let text = SampleFile().adding(
            "store: { driver: postgres, url: \"postgres://m@db/t\", path: t.db, \(Self.key) }"
        ).text
        let warnings = try settings(of: text).warnings.map(\.description)
        #expect(warnings.contains { $0.contains("store.path: has no effect with the postgres driver") })
    }
}
