import Settings
import Testing

@Suite struct CompositeStoreTests {
    private static let key = "sealing_key: { file: /etc/martlet/sealing.key }"
    private static let postgres = "{ driver: postgres, url: postgres://m@db/t, \(Self.key) }"
    private static let redis = "{ driver: redis, url: rediss://cache, \(Self.key) }"

    private func store(_ lines: String) throws -> StoreSettings {
        try settings(of: "state_dir: /s\n" + SampleFile().adding("store: { \(lines) }").text).store
    }

    /// The faults of a store, without their positions.
    private func faults(_ lines: String) -> [String] {
        SettingsTests.faults(of: SampleFile().adding("store: { \(lines) }").text)
            .map { String($0.drop { $0 != " " }.dropFirst()) }
    }

    /// The warnings about a store, without those of the rest of the file.
    private func warnings(_ lines: String) throws -> [String] {
        try settings(of: SampleFile().adding("store: { \(lines) }").text).warnings
            .filter { $0.path.hasPrefix("store") }.map { "\($0.path): \($0.message)" }
    }

    // MARK: - What is read

    @Test func `a move has a store to go to, a store to come from, and one sealing key`() throws {
        let store = try self.store("driver: migrating, current: \(Self.postgres), previous: { path: old.db }")

        guard case .migrating(.postgres(let current), .sqlite(let previous), let key) = store else {
            Issue.record("another store: \(store.driver)")
            return
        }
        #expect(current.database == "t")
        #expect(previous == "/s/old.db")
        #expect(key == .file("/etc/martlet/sealing.key"))
        #expect(store.driver == "migrating")
        #expect(store.isDurable)
    }

    @Test func `mirrors are stores beside a primary, in the order of the file`() throws {
        let store = try self.store(
            "driver: mirroring, primary: \(Self.redis), mirrors: [{ path: a.db }, { driver: postgres, url: postgres://m@db/t }]"
        )

        guard case .mirroring(.redis(let primary), let mirrors, let key) = store else {
            Issue.record("another store: \(store.driver)")
            return
        }
        #expect(primary.hosts.map(\.text) == ["cache:6379"])
        #expect(mirrors.map(\.driver) == ["sqlite", "postgres"])
        #expect(mirrors.first == .sqlite(path: "/s/a.db"))
        #expect(key == .file("/etc/martlet/sealing.key"))
        #expect(store.driver == "mirroring")
        #expect(store.isDurable)
    }

    @Test func `an SQLite store that counts has a default for its path and for its key`() throws {
        #expect(
            try self.store("driver: migrating, current: {}, previous: { path: old.db }")
                == .migrating(
                    current: .sqlite(path: "/s/tokens.db"),
                    previous: .sqlite(path: "/s/old.db"),
                    sealingKey: .file("/s/sealing.key")
                )
        )
        #expect(
            try self.store(
                "driver: mirroring, primary: { sealing_key_file: k }, mirrors: [{ path: /backup/tokens.db }]"
            )
                == .mirroring(
                    primary: .sqlite(path: "/s/tokens.db"),
                    mirrors: [.sqlite(path: "/backup/tokens.db")],
                    sealingKey: .file("/s/k")
                )
        )
    }

    @Test func `a store to come from needs no key, whatever its driver is`() throws {
        let store = try self.store(
            "driver: migrating, current: { driver: sqlite }, previous: { driver: redis, url: rediss://cache }"
        )
        guard case .migrating(.sqlite, .redis, .file("/s/sealing.key")) = store else {
            Issue.record("another store: \(store.driver)")
            return
        }
    }

    // MARK: - The sealing key

    @Test(arguments: ["sealing_key: { file: k }", "sealing_key_file: k", "sealing_key: { env: KEYS }"])
    func `a sealing key in a store that has no own one is a fault`(key: String) {
        let name = String(key.prefix { $0 != ":" })
        let fault = "has no place here: the key of current, or of primary, seals in both and must open both"
        #expect(
            self.faults("driver: migrating, current: \(Self.redis), previous: { \(key) }") == [
                "store.previous.\(name): \(fault)"
            ]
        )
        #expect(
            self.faults("driver: mirroring, primary: \(Self.redis), mirrors: [{ path: a.db }, { \(key) }]") == [
                "store.mirrors[1].\(name): \(fault)"
            ]
        )
        #expect(
            self.faults("driver: migrating, current: \(Self.redis), previous: { driver: postgres, url: x, \(key) }")
                .sorted() == [
                    "store.previous.\(name): \(fault)", "store.previous.url: expected a URL with postgres://",
                ]
        )
    }

    @Test(arguments: [("migrating", "current", "previous: {}"), ("mirroring", "primary", "mirrors: [{}]")])
    func `a shared store that counts needs a key that is there`(driver: String, name: String, rest: String) {
        let store = "driver: postgres, url: postgres://m@db/t"
        #expect(
            self.faults("driver: \(driver), \(name): { \(store) }, \(rest)") == [
                "store.\(name): sealing_key is missing: replicas share this store, so make one key and give it to all of them"
            ]
        )
        #expect(
            self.faults("driver: \(driver), \(name): { \(store), sealing_key_file: /etc/martlet/missing.pem }, \(rest)")
                == [
                    "store.\(name).sealing_key_file: /etc/martlet/missing.pem can't be read: it is not there; copy the key from another replica, or make one for a new store: openssl rand -base64 32"
                ]
        )
    }

    // MARK: - Faults

    @Test func `what is missing is reported`() {
        #expect(
            self.faults("driver: migrating") == ["store: current is missing", "store: previous is missing"]
        )
        #expect(
            self.faults("driver: mirroring") == ["store: mirrors is missing", "store: primary is missing"]
        )
        #expect(self.faults("driver: migrating, current: \(Self.redis)") == ["store: previous is missing"])
        #expect(self.faults("driver: mirroring, mirrors: [{}]") == ["store: primary is missing"])
    }

    @Test func `a part with a fault is reported at its place`() {
        #expect(
            self.faults(
                "driver: migrating, current: { driver: redis, \(Self.key) }, previous: { driver: postgres, url: x }"
            ) == ["store.current: url is missing", "store.previous.url: expected a URL with postgres://"]
        )
        #expect(
            self.faults(
                "driver: mirroring, primary: {}, mirrors: [{ path: '' }, { driver: redis, url: redis://cache:0 }, a]"
            ) == [
                "store.mirrors[0].path: is empty", "store.mirrors[1].url: has port 0",
                "store.mirrors[2]: expected a mapping, found text",
            ]
        )
        #expect(
            self.faults("driver: migrating, current: a, previous: []") == [
                "store.current: expected a mapping, found text", "store.previous: expected a mapping, found a list",
            ]
        )
        #expect(
            self.faults("driver: mirroring, primary: {}, mirrors: { path: b.db }") == [
                "store.mirrors: expected a list, found a mapping"
            ]
        )
    }

    @Test func `a store has one to four mirrors`() throws {
        let four = (1...4).map { "{ path: \($0).db }" }.joined(separator: ", ")
        guard case .mirroring(_, let mirrors, _) = try self.store("driver: mirroring, primary: {}, mirrors: [\(four)]")
        else {
            Issue.record("another store")
            return
        }
        #expect(mirrors.count == 4)
        for list in ["", "\(four), { path: 5.db }"] {
            #expect(
                self.faults("driver: mirroring, primary: {}, mirrors: [\(list)]") == [
                    "store.mirrors: must have 1 to 4 stores"
                ]
            )
        }
    }

    @Test(arguments: ["memory", "migrating", "mirroring"])
    func `a store in memory or of several stores can't be a part`(driver: String) {
        let fault = "can't be used here, there are sqlite, postgres, redis"
        #expect(
            self.faults("driver: migrating, current: { driver: \(driver) }, previous: { driver: \(driver) }") == [
                "store.current.driver: \(fault)", "store.previous.driver: \(fault)",
            ]
        )
        #expect(
            self.faults("driver: mirroring, primary: { driver: \(driver) }, mirrors: [{ driver: \(driver) }]") == [
                "store.primary.driver: \(fault)", "store.mirrors[0].driver: \(fault)",
            ]
        )
    }

    /// Pairs of stores that have the same records.
    private static let same = [
        ("{}", "{}"), ("{ path: tokens.db }", "{ driver: sqlite }"), ("{ path: /a/b.db }", "{ path: /a/b.db }"),
        (
            Self.postgres,
            "{ driver: postgres, url: 'postgres://other@db:5432/t?sslmode=disable', allow_cleartext: true }"
        ),
        (Self.redis, "{ driver: redis, url: rediss://other@cache:6379/0, prefix: 'martlet:' }"),
        (
            "{ driver: redis, url: 'rediss://s1,s2?sentinel=main', \(Self.key) }",
            "{ driver: redis, url: 'rediss://s1,s2?sentinel=main' }"
        ),
    ]

    @Test(arguments: Self.same)
    func `the same store twice is a fault`(one: String, other: String) {
        #expect(
            self.faults("driver: migrating, current: \(one), previous: \(other)") == [
                "store.previous: is the same store as current"
            ]
        )
        #expect(
            self.faults("driver: mirroring, primary: \(one), mirrors: [{ path: c.db }, \(other)]") == [
                "store.mirrors[1]: is the same store as another one"
            ]
        )
        #expect(
            self.faults("driver: mirroring, primary: { path: c.db }, mirrors: [\(other), \(other)]") == [
                "store.mirrors[1]: is the same store as another one"
            ]
        )
    }

    @Test(arguments: [
        ("{}", "{ path: other.db }"),
        (Self.postgres, "{ driver: postgres, url: postgres://m@db/other }"),
        (Self.postgres, "{ driver: postgres, url: postgres://m@db2/t }"),
        (Self.postgres, "{ driver: postgres, url: postgres://m@db:5433/t }"),
        (Self.redis, "{ driver: redis, url: rediss://cache/1 }"),
        (Self.redis, "{ driver: redis, url: rediss://cache2 }"),
        (Self.redis, "{ driver: redis, url: rediss://cache, prefix: other }"),
        (
            "{ driver: redis, url: 'rediss://s1?sentinel=main', \(Self.key) }",
            "{ driver: redis, url: 'rediss://s1?sentinel=other' }"
        ),
    ])
    func `two stores of one kind are no fault`(one: String, other: String) {
        #expect(self.faults("driver: migrating, current: \(one), previous: \(other)") == [])
        #expect(self.faults("driver: mirroring, primary: \(one), mirrors: [\(other)]") == [])
    }

    // MARK: - Warnings and summaries

    @Test func `keys without an effect are warnings, within the parts too`() throws {
        #expect(
            try self.warnings(
                """
                driver: migrating, path: a, sealing_key: { file: k }, primary: {},
                  current: { prefix: p }, previous: { path: b, url: u, mirrors: [] }
                """
            ) == [
                "store.path: has no effect with the migrating driver",
                "store.sealing_key: has no effect with the migrating driver",
                "store.primary: has no effect with the migrating driver",
                "store.current.prefix: has no effect with the sqlite driver",
                "store.previous.url: has no effect with the sqlite driver",
                "store.previous.mirrors: has no effect with the sqlite driver",
            ]
        )
        #expect(
            try self.warnings(
                "driver: mirroring, previous: {}, primary: { current: {} }, mirrors: [{ path: a, password: {} }]"
            ) == [
                "store.previous: has no effect with the mirroring driver",
                "store.primary.current: has no effect with the sqlite driver",
                "store.mirrors[0].password: has no effect with the sqlite driver",
            ]
        )
    }

    @Test(arguments: [
        (
            "driver: migrating, current: \(Self.redis), previous: { path: old.db }",
            "moving from sqlite at /s/old.db to redis database 0, keys martlet:… at cache:6379 as user default, over TLS with the system's roots, sealed with the key in /etc/martlet/sealing.key"
        ),
        (
            "driver: migrating, current: {}, previous: { driver: postgres, url: postgres://m@db/t }",
            "moving from postgres database t at db:5432 as user m, over TLS with the system's roots to sqlite at /s/tokens.db, sealed with the key in /s/sealing.key"
        ),
        (
            "driver: mirroring, primary: \(Self.postgres), mirrors: [{ path: /a.db }, { path: /b.db }]",
            "postgres database t at db:5432 as user m, over TLS with the system's roots, mirrored to sqlite at /a.db and to sqlite at /b.db, sealed with the key in /etc/martlet/sealing.key"
        ),
    ])
    func `the summary names all stores and the key`(lines: String, summary: String) throws {
        let text = "state_dir: /s\n" + SampleFile().adding("store: { \(lines) }").text
        #expect(SettingsSummary(try settings(of: text)).lines.contains("store \(summary)"))
    }
}
