import Settings
import Testing

/// Stores that are made of others.
@Suite struct CompositeStoreTests {
    private static let key = "sealing_key: { file: /etc/martlet/sealing.key }"
    private static let postgres = "driver: postgres, url: \"postgres://m@db/t\""
    private static let redis = "driver: redis, url: \"rediss://m@cache\""

    private func faults(of store: String) -> [String] {
        SettingsTests.faults(of: SampleFile().adding("store: \(store)").text).map { fault in
            String(fault.drop { $0 != " " }.dropFirst())
        }
    }

    private func store(_ lines: String) throws -> (settings: StoreSettings, warnings: [String], summary: String) {
        let read = try settings(of: SampleFile().adding("store: \(lines)").text)
        return (read.store, read.warnings.map(\.description), SettingsSummary(read).description)
    }

    @Test func `a store moves from one driver to another`() throws {
        let (store, warnings, summary) = try self.store(
            "{ driver: migrating, current: { \(Self.postgres), \(Self.key) }, previous: { driver: sqlite, path: /s/t.db } }"
        )

        #expect(store.driver == "migrating")
        #expect(store.isDurable)
        let key = SealingKeySettings.file("/etc/martlet/sealing.key")
        guard case .migrating(.postgres(let current), .sqlite("/s/t.db"), sealingKey: key) = store else {
            Issue.record("another store")
            return
        }
        #expect(current.database == "t")
        #expect(warnings == [])
        #expect(
            summary.contains(
                "store moving from sqlite at /s/t.db to postgres database t at db:5432 as user m, over TLS with the system's roots, sealed with the key in /etc/martlet/sealing.key"
            )
        )
    }

    @Test func `a store has mirrors, and its first driver makes a key as without them`() throws {
        let (store, _, summary) = try self.store(
            """
            { driver: mirroring, primary: { driver: sqlite },
              mirrors: [{ \(Self.postgres) }, { \(Self.redis) }, { driver: sqlite, path: copy.db }] }
            """
        )

        #expect(store.driver == "mirroring")
        guard case .mirroring(.sqlite(let path), let mirrors, sealingKey: .file(let key)) = store else {
            Issue.record("another store")
            return
        }
        #expect(path.hasSuffix("/tokens.db"))
        #expect(mirrors.count == 3)
        #expect(key.hasSuffix("/sealing.key"))
        #expect(summary.contains("tokens.db, mirrored to postgres database t at db:5432"))
        #expect(summary.contains(" and to redis database 0, keys martlet:… at cache:6379"))
    }

    @Test(arguments: [
        ("{ driver: migrating }", ["store: current is missing", "store: previous is missing"]),
        ("{ driver: mirroring }", ["store: mirrors is missing", "store: primary is missing"]),
        (
            "{ driver: migrating, current: { \(Self.postgres) }, previous: { driver: sqlite } }",
            [
                "store.current: sealing_key is missing: replicas share this store, so make one key and give it to all of them"
            ]
        ),
        (
            "{ driver: migrating, current: { \(Self.postgres), \(Self.key) }, previous: { \(Self.redis), \(Self.key) } }",
            [
                "store.previous.sealing_key: has no place here: the key of current, or of primary, seals in both and must open both"
            ]
        ),
        (
            "{ driver: mirroring, primary: { driver: sqlite }, mirrors: [{ \(Self.redis), sealing_key_file: a }] }",
            [
                "store.mirrors[0].sealing_key_file: has no place here: the key of current, or of primary, seals in both and must open both"
            ]
        ),
        (
            "{ driver: migrating, current: { driver: memory }, previous: { driver: migrating } }",
            [
                "store.current.driver: can't be used here, there are sqlite, postgres, redis",
                "store.previous.driver: can't be used here, there are sqlite, postgres, redis",
            ]
        ),
        (
            "{ driver: mirroring, primary: { driver: mirroring }, mirrors: [{ driver: memory }] }",
            [
                "store.primary.driver: can't be used here, there are sqlite, postgres, redis",
                "store.mirrors[0].driver: can't be used here, there are sqlite, postgres, redis",
            ]
        ),
        (
            "{ driver: mirroring, primary: { driver: sqlite }, mirrors: [] }",
            ["store.mirrors: must have 1 to 4 stores"]
        ),
        (
            "{ driver: mirroring, primary: { driver: sqlite }, mirrors: { driver: sqlite } }",
            ["store.mirrors: expected a list, found a mapping"]
        ),
        (
            "{ driver: migrating, current: { driver: sqlite, path: /t.db }, previous: { driver: sqlite, path: /t.db } }",
            ["store.previous: is the same store as current"]
        ),
        (
            "{ driver: migrating, current: { \(Self.postgres), \(Self.key) }, previous: { \(Self.postgres) } }",
            ["store.previous: is the same store as current"]
        ),
        (
            "{ driver: migrating, current: { \(Self.redis), \(Self.key) }, previous: { \(Self.redis) } }",
            ["store.previous: is the same store as current"]
        ),
        (
            """
            { driver: mirroring, primary: { driver: sqlite },
              mirrors: [{ driver: sqlite }, { \(Self.redis) }, { \(Self.redis) }] }
            """,
            [
                "store.mirrors[0]: is the same store as another one",
                "store.mirrors[2]: is the same store as another one",
            ]
        ),
    ])
    func `a wrong composite is reported where it is wrong`(store: String, faults: [String]) {
        #expect(self.faults(of: store) == faults)
    }

    @Test func `stores that differ in their prefix are two stores`() {
        let store =
            "{ driver: migrating, current: { \(Self.redis), prefix: \"b:\", \(Self.key) }, previous: { \(Self.redis) } }"
        #expect(self.faults(of: store) == [])
    }

    @Test func `keys of the other kind of store have no effect, and that is a warning`() throws {
        let (_, warnings, _) = try self.store(
            """
            { driver: migrating, path: t.db, mirrors: [], current: { driver: sqlite, prefix: a },
              previous: { driver: sqlite, path: old.db } }
            """
        )
        #expect(warnings.contains { $0.contains("store.path: has no effect with the migrating driver") })
        #expect(warnings.contains { $0.contains("store.mirrors: has no effect with the migrating driver") })
        #expect(warnings.contains { $0.contains("store.current.prefix: has no effect with the sqlite driver") })
    }
}
