import Settings
import Testing

@Suite struct RedisStoreTests {
    private static let key = "sealing_key: { file: /etc/martlet/sealing.key }"

    private func store(_ lines: String, secrets: [String: String] = [:]) throws -> RedisSettings {
        let text = SampleFile().adding("store: { driver: redis, \(Self.key), \(lines) }").text
        let read = try settings(of: text, secrets: secrets)
        #expect(read.store.driver == "redis")
        #expect(read.store.isDurable)
        guard case .single(.redis(let store), sealingKey: .file("/etc/martlet/sealing.key")) = read.store else {
            throw WrongStore()
        }
        return store
    }

    private struct WrongStore: Error {}

    @Test func `a URL names the user, the hosts and the database`() throws {
        let store = try self.store(#"url: "rediss://mart%6Cet@db1.example,[2001:db8::1]:6380/7""#)

        #expect(store.user == "martlet")
        #expect(store.database == 7)
        #expect(store.hosts.map(\.name) == ["db1.example", "2001:db8::1"])
        #expect(store.hosts.map(\.port) == [6379, 6380])
        #expect(store.password == nil)
        #expect(store.sentinels == nil)
        #expect(store.certificateAuthorities == nil)
        #expect(store.prefix == "martlet:")
        #expect(store.isEncrypted)
    }

    @Test(arguments: ["rediss://cache", "rediss://cache/", "rediss://@cache", "rediss://cache:6379/0"])
    func `the user, the port and the database may be missing`(url: String) throws {
        let store = try self.store("url: \"\(url)\"")

        #expect(store.user == nil)
        #expect(store.database == 0)
        #expect(store.hosts.map(\.port) == [6379])
    }

    @Test func `Sentinels are named by the URL, with a port and a login of their own`() throws {
        let store = try self.store(
            """
            url: "rediss://m@s1,s2:26380/0?sentinel=the%20primary&sentinel_user=watcher", password: { file: r.pass },
              sentinel_password: { file: s.pass }
            """,
            secrets: ["/etc/martlet/r.pass": "a-password", "/etc/martlet/s.pass": "another"]
        )

        #expect(store.hosts.map(\.port) == [26379, 26380])
        #expect(store.sentinels?.name == "the primary")
        #expect(store.sentinels?.user == "watcher")
        #expect(store.sentinels?.password?.origin == .file("/etc/martlet/s.pass"))
        #expect(store.password?.origin == .file("/etc/martlet/r.pass"))
    }

    @Test(arguments: [
        (#"url: "redis://m@127.0.0.1,[::1]""#, false), (#"url: "redis://m@cache", allow_cleartext: true"#, false),
        (#"url: "redis://m@localhost?sentinel=a", allow_cleartext: true"#, false), (#"url: "rediss://m@cache""#, true),
    ])
    func `the connection is encrypted unless the file says otherwise`(lines: String, isEncrypted: Bool) throws {
        #expect(try self.store(lines).isEncrypted == isEncrypted)
    }

    @Test func `a prefix may have a hash tag`() throws {
        #expect(try self.store(#"url: "rediss://c", prefix: "{martlet}:""#).prefix == "{martlet}:")
    }

    @Test(arguments: ["a b", "h\u{E9}", String(repeating: "a", count: 65)])
    func `a wrong prefix is reported`(prefix: String) {
        let text = SampleFile().adding(
            "store: { driver: redis, \(Self.key), url: \"rediss://c\", prefix: \"\(prefix)\" }"
        ).text
        #expect(
            faults(of: text).map { String($0.drop { $0 != " " }.dropFirst()) } == [
                "store.prefix: must be up to 64 printable ASCII characters without spaces"
            ]
        )
    }

    private static let cleartext =
        "has redis:// for a host that may not be loopback: records are sealed, but who is in between could read the password, and change or drop what is written; use rediss://, or set allow_cleartext: true"

    @Test(arguments: [
        ("postgres://m@c/t", "expected a URL with rediss://"),
        ("rediss://m:s3cr3t@c", "must not hold a password; use password: { file: PATH } or { env: NAME }"),
        ("rediss://:s3cr3t@c", "must not hold a password; use password: { file: PATH } or { env: NAME }"),
        ("rediss://m@c/one", "has a database that is not a number: …/0"),
        ("rediss://m@c/-1", "has a database that is not a number: …/0"),
        ("rediss://m@c/123456", "has a database that is not a number: …/0"),
        ("rediss://m@", "has no host"),
        ("rediss://m@c:0", "has port 0"),
        ("rediss://m@c?db=1", "has a parameter that is not supported; there are sentinel and sentinel_user"),
        ("rediss://m@c?sentinel_user=a", "has sentinel_user without sentinel"),
        ("rediss://m@c?sentinel=", "has a part that is empty or not percent-encoded correctly"),
        ("rediss://m@a,b,c,d,e,f,g,h,i", "names more than 8 hosts"),
        ("redis://m@cache", Self.cleartext),
        ("redis://m@localhost?sentinel=a", Self.cleartext),
    ])
    func `a wrong URL is reported`(url: String, fault: String) {
        let text = SampleFile().adding("store: { driver: redis, \(Self.key), url: \"\(url)\" }").text
        #expect(faults(of: text).map { String($0.drop { $0 != " " }.dropFirst()) } == ["store.url: \(fault)"])
    }

    @Test func `what is missing is reported`() {
        #expect(
            faults(of: SampleFile().adding("store: { driver: redis }").text) == [
                "12:1: store: sealing_key is missing: replicas share this store, so make one key and give it to all of them",
                "12:1: store: url is missing",
            ]
        )
    }

    @Test func `a key or a password in the file itself is refused and not repeated`() {
        let text = SampleFile().adding(
            """
            store: { driver: redis, url: "rediss://m@c?sentinel=a", password: s3cr3t, sentinel_password: s3cr3t,
              sealing_key: c2VjcmV0 }
            """
        ).text
        let found = faults(of: text)
        #expect(found.count == 3)
        #expect(found.allSatisfy { !$0.contains("s3cr3t") && !$0.contains("c2VjcmV0") })
    }

    @Test func `a password for Sentinels that there are none of is a fault, and a key of another driver a warning`()
        throws
    {
        let sentinel = "store: { driver: redis, url: \"rediss://m@c\", sentinel_password: { env: S }, \(Self.key) }"
        let text = SampleFile().adding(sentinel).text
        #expect(
            faults(of: text, variables: ["HOME": "/h", "S": "s3cr3t"]).map { String($0.drop { $0 != " " }.dropFirst()) }
                == [
                    "store.sentinel_password: has no effect: the URL has no parameter sentinel=NAME"
                ]
        )

        let path = "store: { driver: redis, url: \"rediss://m@c\", path: t.db, \(Self.key) }"
        let warnings = try settings(of: SampleFile().adding(path).text).warnings.map(\.description)
        #expect(warnings.contains { $0.contains("store.path: has no effect with the redis driver") })
    }

    @Test func `the summary says where the records are, and nothing secret`() throws {
        let text = SampleFile().adding(
            """
            store: { driver: redis, url: "rediss://m@s1,s2/3?sentinel=a", password: { file: r.pass }, \(Self.key) }
            """
        ).text
        let summary = SettingsSummary(try settings(of: text, secrets: ["/etc/martlet/r.pass": "s3cr3t"])).description
        #expect(
            summary.contains(
                "store redis database 3, keys martlet:… at the primary a of the Sentinels s1:26379 or s2:26379 as user m, over TLS with the system's roots, sealed with the key in /etc/martlet/sealing.key"
            )
        )
        #expect(!summary.contains("s3cr3t"))
    }
}
