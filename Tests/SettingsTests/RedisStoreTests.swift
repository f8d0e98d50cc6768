import Settings
import Testing
import TokenModel

@Suite struct RedisStoreTests {
    private static let key = "sealing_key: { file: /etc/martlet/sealing.key }"

    private func store(
        _ lines: String,
        variables: [String: String] = ["HOME": "/home/me"],
        secrets: [String: String] = [:]
    ) throws -> RedisSettings {
        let text = SampleFile().adding("store: { driver: redis, \(Self.key), \(lines) }").text
        let read = try settings(of: text, variables: variables, secrets: secrets)
        guard case .single(.redis(let store), sealingKey: .file("/etc/martlet/sealing.key")) = read.store else {
            throw WrongStore()
        }
        return store
    }

    private struct WrongStore: Error {}

    /// The faults of a store in Redis, without their positions.
    private func faults(_ lines: String, secrets: [String: String] = [:]) -> [String] {
        SettingsTests.faults(of: SampleFile().adding("store: { driver: redis, \(lines) }").text, secrets: secrets)
            .map { String($0.drop { $0 != " " }.dropFirst()) }
    }

    // MARK: - URLs

    @Test func `a URL names the user, the hosts and the database`() throws {
        let store = try self.store(#"url: "rediss://mart%6Cet@Cache1.example,[2001:db8::1]:6380/3""#)

        #expect(store.user == "martlet")
        #expect(store.hosts.map(\.name) == ["cache1.example", "2001:db8::1"])
        #expect(store.hosts.map(\.port) == [6379, 6380])
        #expect(store.database == 3)
        #expect(store.sentinels == nil)
    }

    @Test(arguments: ["rediss://cache", "rediss://cache/", "rediss://@cache", "rediss://cache:6379/0"])
    func `a URL needs only a host, and the rest has defaults`(url: String) throws {
        let store = try self.store("url: \"\(url)\"")

        #expect(store.user == nil)
        #expect(store.hosts.map(\.text) == ["cache:6379"])
        #expect(store.database == 0)
        #expect(store.password == nil)
        #expect(store.certificateAuthorities == nil)
        #expect(store.prefix == "martlet:")
    }

    @Test(arguments: [
        ("rediss://cache", true), ("rediss://m@127.0.0.1/0", true), ("rediss://cache?sentinel=main", true),
        ("redis://127.0.0.1", false), ("redis://localhost/1", false), ("redis://m@[::1]:6380,127.0.0.2/1", false),
    ])
    func `the scheme says whether the connection is encrypted`(url: String, isEncrypted: Bool) throws {
        #expect(try self.store("url: \"\(url)\"").isEncrypted == isEncrypted)
    }

    // A Sentinel on this machine may name a primary on another one.
    @Test(arguments: [
        "redis://cache", "redis://127.0.0.1,cache", "redis://cache1,cache2?sentinel=main",
        "redis://127.0.0.1?sentinel=main",
    ])
    func `cleartext to another machine is a fault unless the file allows it`(url: String) throws {
        let found = self.faults("\(Self.key), url: \"\(url)\"")
        #expect(
            found == [
                "store.url: has redis:// for a host that may not be loopback: records are sealed, but who is in between could read the password, and change or drop what is written; use rediss://, or set allow_cleartext: true"
            ]
        )
        #expect(try !self.store("url: \"\(url)\", allow_cleartext: true").isEncrypted)
        #expect(!self.faults("\(Self.key), url: \"\(url)\", allow_cleartext: false").isEmpty)
    }

    @Test func `with a parameter sentinel, the hosts are Sentinels with a user of their own`() throws {
        let store = try self.store(
            #"url: "rediss://martlet@s1,s2,s3:26380/2?sentinel=ma%69n&sentinel_user=watcher", sentinel_password: { file: watcher }"#,
            secrets: ["/etc/martlet/watcher": "a-password"]
        )

        #expect(store.hosts.map(\.text) == ["s1:26379", "s2:26379", "s3:26380"])
        #expect(store.sentinels?.name == "main")
        #expect(store.sentinels?.user == "watcher")
        #expect(store.sentinels?.password?.origin == .file("/etc/martlet/watcher"))
        #expect(store.user == "martlet")
        #expect(store.password == nil)
        #expect(store.database == 2)
    }

    @Test func `Sentinels need neither a user nor a password`() throws {
        let store = try self.store(#"url: "rediss://s1?sentinel=main""#)
        #expect(store.sentinels?.name == "main")
        #expect(store.sentinels?.user == nil)
        #expect(store.sentinels?.password == nil)
    }

    @Test(arguments: [
        ("http://cache", "expected a URL with rediss://"),
        ("cache:6379", "expected a URL with rediss://"),
        ("redis+tls://cache", "expected a URL with rediss://"),
        ("rediss://", "has no host"),
        ("rediss://martlet@/0", "has no host"),
        ("rediss://cache,/0", "has no host"),
        ("rediss://ca che/0", "has a host that is neither a name nor an address"),
        ("rediss://[cache]/0", "has brackets around what is not an IPv6 address"),
        ("rediss://cache:0/0", "has port 0"),
        (
            "rediss://cache:65536/0",
            "has no port between 0 and 65535 behind its last colon; an IPv6 address needs brackets: [::1]"
        ),
        ("rediss://a,b,c,d,e,f,g,h,i/0", "names more than 8 hosts"),
        ("rediss://cache/tokens", "has a database that is not a number: …/0"),
        ("rediss://cache/-1", "has a database that is not a number: …/0"),
        ("rediss://cache/65536", "has a database that is not a number: …/0"),
        ("rediss://cache/0/1", "has a database that is not a number: …/0"),
        ("rediss://m%zz@cache/0", "has a part that is empty or not percent-encoded correctly"),
        ("rediss://m%00@cache/0", "has a part that is empty or not percent-encoded correctly"),
        ("rediss://cache?sentinel=", "has a part that is empty or not percent-encoded correctly"),
        ("rediss://cache?sentinel", "has a part that is empty or not percent-encoded correctly"),
        ("rediss://cache?db=1", "has a parameter that is not supported; there are sentinel and sentinel_user"),
        ("rediss://cache?sentinel_user=m", "has sentinel_user without sentinel"),
        ("rediss://m:s3cr3t@cache", "must not hold a password; use password: { file: PATH } or { env: NAME }"),
        ("rediss://:s3cr3t@cache", "must not hold a password; use password: { file: PATH } or { env: NAME }"),
    ])
    func `a wrong URL is reported`(url: String, fault: String) {
        #expect(self.faults("\(Self.key), url: \"\(url)\"") == ["store.url: \(fault)"])
    }

    @Test(arguments: [
        "redis://m:s3cr3t@127.0.0.1", "rediss://:s3cr3t@cache", "rediss://m:s3c/s3cr3t@cache",
        "rediss://m:a@s3cr3t@cache",
        "rediss://m:a?s3cr3t@cache", "rediss://m@s3cr3t@cache", "rediss://cache?password=s3cr3t",
        "rediss://cache?s3cr3t=1",
        "rediss://cache/s3cr3t", "s3cr3t://cache", "rediss://m:s3cr3t%zz@cache",
    ])
    func `a fault does not repeat a URL, which may hold a password`(url: String) {
        let found = self.faults("\(Self.key), url: \"\(url)\"")
        #expect(found.count == 1)
        #expect(found.allSatisfy { $0.hasPrefix("store.url: ") && !$0.contains("s3cr3t") })
    }

    // MARK: - Secrets and files

    @Test func `passwords come from files or the environment`() throws {
        let store = try self.store(
            #"url: "rediss://s1?sentinel=main", password: { env: PASS }, sentinel_password: { file: s.pass }, ca: roots.pem"#,
            variables: ["HOME": "/home/me", "PASS": "one"],
            secrets: ["/etc/martlet/s.pass": "two"]
        )
        #expect(store.password?.origin == .variable("PASS"))
        #expect(store.password?.value == Secret("one"))
        #expect(store.sentinels?.password?.value == Secret("two"))
        #expect(store.certificateAuthorities == "/etc/martlet/roots.pem")
    }

    @Test func `files that can't be read are reported`() {
        #expect(
            self.faults(
                """
                sealing_key: { file: /etc/martlet/missing.pem }, url: "rediss://s1?sentinel=main", ca: missing.pem,
                   password: { file: a.pass }, sentinel_password: { file: b.pass }
                """
            ) == [
                "store.sealing_key: /etc/martlet/missing.pem can't be read: it is not there; copy the key from another replica, or make one for a new store: openssl rand -base64 32",
                "store.ca: /etc/martlet/missing.pem can't be read: it is not there",
                "store.password.file: /etc/martlet/a.pass can't be read: it is not there",
                "store.sentinel_password.file: /etc/martlet/b.pass can't be read: it is not there",
            ]
        )
    }

    @Test func `keys and passwords in the file itself are refused and not repeated`() {
        let secret = "a secret must not be written in this file; expected { file: PATH } or { env: NAME }"
        #expect(
            self.faults(
                "url: \"rediss://s1?sentinel=main\", password: s3cr3t, sentinel_password: s3cr3t, sealing_key: c2VjcmV0"
            ) == [
                "store.password: \(secret)", "store.sentinel_password: \(secret)",
                "store.sealing_key: a key must not be written in this file; expected { file: PATH } or { env: NAME }",
            ]
        )
    }

    @Test func `a password for Sentinels without Sentinels is a fault`() {
        #expect(
            self.faults(
                "\(Self.key), url: \"rediss://cache\", sentinel_password: { file: s.pass }",
                secrets: ["/etc/martlet/s.pass": "two"]
            ) == ["store.sentinel_password: has no effect: the URL has no parameter sentinel=NAME"]
        )
    }

    // MARK: - Prefixes

    @Test(arguments: ["m", "{martlet}:", "team/a:", String(repeating: "p", count: 64)])
    func `a prefix keeps stores in one database apart`(prefix: String) throws {
        #expect(try self.store("url: rediss://cache, prefix: \"\(prefix)\"").prefix == prefix)
    }

    @Test(arguments: ["a b", "ü:", String(repeating: "p", count: 65)])
    func `a wrong prefix is reported`(prefix: String) {
        #expect(
            self.faults("\(Self.key), url: rediss://cache, prefix: \"\(prefix)\"") == [
                "store.prefix: must be up to 64 printable ASCII characters without spaces"
            ]
        )
    }

    @Test func `an empty prefix is reported`() {
        #expect(self.faults("\(Self.key), url: rediss://cache, prefix: ''") == ["store.prefix: is empty"])
    }

    // MARK: - All together

    @Test func `what is missing is reported`() {
        #expect(
            self.faults("prefix: m") == [
                "store: sealing_key is missing: replicas share this store, so make one key and give it to all of them",
                "store: url is missing",
            ]
        )
    }

    @Test(arguments: [
        ("sqlite, url: u", "url", "sqlite"), ("sqlite, prefix: p", "prefix", "sqlite"),
        ("memory, path: t.db", "path", "memory"), ("memory, sealing_key: { file: k }", "sealing_key", "memory"),
        ("redis, \(Self.key), url: rediss://cache, path: t.db", "path", "redis"),
        ("redis, \(Self.key), url: rediss://cache, current: {}", "current", "redis"),
        ("postgres, \(Self.key), url: postgres://m@db/t, prefix: p", "prefix", "postgres"),
        ("postgres, \(Self.key), url: postgres://m@db/t, sentinel_password: s", "sentinel_password", "postgres"),
    ])
    func `a key of another driver has no effect, and that is a warning`(store: String, key: String, driver: String)
        throws
    {
        let warnings = try settings(of: SampleFile().adding("store: { driver: \(store) }").text).warnings
        let found = warnings.filter { $0.path.hasPrefix("store") }
        #expect(found.map(\.path) == ["store.\(key)"])
        #expect(found.map(\.message) == ["has no effect with the \(driver) driver"])
    }

    @Test(arguments: [
        (
            #"url: "rediss://cache""#,
            "database 0, keys martlet:… at cache:6379 as user default, over TLS with the system's roots"
        ),
        (
            #"url: "redis://m@127.0.0.1,[::1]:6380/2", prefix: "{m}:""#,
            "database 2, keys {m}:… at 127.0.0.1:6379 or [::1]:6380 as user m, not encrypted"
        ),
        (
            #"url: "rediss://m@s1,s2?sentinel=main", ca: roots.pem, password: { env: PASS }"#,
            "database 0, keys martlet:… at the primary main of the Sentinels s1:26379 or s2:26379 as user m, over TLS with the roots in /etc/martlet/roots.pem"
        ),
    ])
    func `the summary names the database and no password`(lines: String, summary: String) throws {
        let text = SampleFile().adding("store: { driver: redis, \(Self.key), \(lines) }").text
        let read = try settings(of: text, variables: ["HOME": "/home/me", "PASS": "canary"])
        let found = SettingsSummary(read).description
        #expect(found.contains("\nstore redis \(summary), sealed with the key in /etc/martlet/sealing.key\n"))
        #expect(!found.contains("canary"))
    }
}
