import Settings
import Testing

/// A route's `cache`.
@Suite struct CacheTests {
    private static func cache(_ section: String, _ lines: String...) throws -> CacheSettings? {
        let file = lines.reduce(SampleFile()) { $0.route($1) }
        return try settings(of: file.route("cache: \(section)").text).routes.first?.cache
    }

    @Test func `without the key a route stores nothing`() throws {
        #expect(try #require(settings(of: SampleFile().text).routes.first).cache == nil)
    }

    @Test func `an empty section has the defaults`() throws {
        let cache = try #require(try Self.cache("{}"))
        #expect(cache.maxSize == 256 << 20)
        #expect(cache.maxObject == 1 << 20)
        #expect(cache.defaultTTL == 0)
        #expect(cache.staleIfError == 0)
        #expect(cache.share == .caller)
        #expect(cache.keyFields == [])
    }

    @Test func `every setting of the section is read, with names of fields in lower case`() throws {
        let cache = try #require(
            try Self.cache(
                "{ max_size: 2GiB, max_object: 64KiB, default_ttl: 1m, stale_if_error: 24h, share: account, "
                    + "key_fields: [Stripe-Account, accept_language] }"
            )
        )
        #expect(cache.maxSize == 2 << 30)
        #expect(cache.maxObject == 64 << 10)
        #expect(cache.defaultTTL == 60)
        #expect(cache.staleIfError == 86_400)
        #expect(cache.share == .account)
        #expect(cache.keyFields == ["stripe-account", "accept_language"])
    }

    @Test(arguments: [
        ("{ max_size: 1023KiB }", "12:24: routes[0].cache.max_size: must be between 1MiB and 1024GiB"),
        ("{ max_size: 64 }", "12:24: routes[0].cache.max_size: has no unit; write a size such as 512B, 64KiB or 1MiB"),
        ("{ max_object: 0B }", "12:26: routes[0].cache.max_object: must be between 1KiB and 1GiB"),
        (
            "{ max_size: 1MiB, max_object: 2MiB }",
            "12:42: routes[0].cache.max_object: must not be more than max_size, which is 1MiB"
        ),
        ("{ max_object: 1GiB }", "12:26: routes[0].cache.max_object: must not be more than max_size, which is 256MiB"),
        (
            "{ max_size: 64, max_object: 1GiB }",
            "12:24: routes[0].cache.max_size: has no unit; write a size such as 512B, 64KiB or 1MiB"
        ),
        ("{ default_ttl: 500ms }", "12:27: routes[0].cache.default_ttl: must be whole seconds"),
        ("{ default_ttl: 8761h }", "12:27: routes[0].cache.default_ttl: must be between 0s and 8760h"),
        ("{ stale_if_error: 1500ms }", "12:30: routes[0].cache.stale_if_error: must be whole seconds"),
        ("{ share: accounts }", #"12:21: routes[0].cache.share: unknown value, did you mean "account"?"#),
        ("{ share: true }", "12:21: routes[0].cache.share: unknown value, there are caller, account"),
        ("{ max_siez: 1MiB }", #"12:14: routes[0].cache.max_siez: unknown key, did you mean "max_size"?"#),
        ("true", "12:12: routes[0].cache: expected a mapping, found true"),
        ("", "12:5: routes[0].cache: expected a mapping, found nothing"),
        ("{ key_fields: Stripe-Account }", "12:26: routes[0].cache.key_fields: expected a list, found text"),
    ])
    func `a fault in the section is reported with its position, once`(section: String, fault: String) {
        #expect(faults(of: SampleFile().route("cache: \(section)").text) == [fault])
    }

    @Test(arguments: [
        "Host", "content-length", "Transfer-Encoding", "CONNECTION", "Keep-Alive", "TE", "Trailer", "Upgrade", "Expect",
        "Via", "Forwarded", "X-Forwarded-For", "X-Forwarded-Anything", "X_Forwarded_Anything", "Martlet-Account",
        "authorization", "Cookie", "X-Real-IP", "X-Original-URL", "x_rewrite_url",
    ])
    func `a field whose value does not reach the upstream can't tell responses apart`(name: String) {
        let text = SampleFile().route("inject: { header: X-Api-Key }", "cache: { key_fields: [A, \(name)] }").text
        #expect(
            faults(of: text) == [
                "13:30: routes[0].cache.key_fields[1]: is a field that the gateway itself writes or removes"
            ]
        )
    }

    @Test(arguments: [("Authorization", "authorization"), ("X-Api-Key", "x-api-key"), ("X-Api-Key", "X_Api_Key")])
    func `nor can the field that carries the token`(injected: String, name: String) {
        let text = SampleFile().route("inject: { header: \(injected) }", "cache: { key_fields: [\(name)] }").text
        #expect(
            faults(of: text) == [
                "13:27: routes[0].cache.key_fields[0]: "
                    + "is the field that carries the token: the account tells responses apart already"
            ]
        )
    }

    @Test(arguments: ["'X Y'", "'X:'", "Tøken", "'a,b'"])
    func `an invalid name of a field is refused`(name: String) {
        let text = SampleFile().route("cache: { key_fields: [\(name)] }").text
        #expect(
            faults(of: text) == [
                "12:27: routes[0].cache.key_fields[0]: "
                    + "is not the name of a field: letters, digits and !#$%&'*+-.^_`|~ only"
            ]
        )
    }

    @Test func `a field is named once, and there are at most 16`() {
        let twice = SampleFile().route("cache: { key_fields: [A, b, a] }").text
        #expect(faults(of: twice) == ["12:33: routes[0].cache.key_fields[2]: says the same as key_fields[0]"])
        let names = (1...17).map { "F\($0)" }.joined(separator: ", ")
        let many = SampleFile().route("cache: { key_fields: [\(names)] }").text
        #expect(faults(of: many) == ["12:26: routes[0].cache.key_fields: has more than 16 members"])
    }

    @Test func `a cache on a route that passes cookies is refused`() {
        #expect(
            faults(of: SampleFile().route("cookies: true", "cache: {}").text) == [
                "13:5: routes[0].cache: "
                    + "can't be used with cookies: true, since a session makes responses differ: take one of the two out"
            ]
        )
        #expect(faults(of: SampleFile().route("cookies: false", "cache: {}").text) == [])
    }

    @Test(arguments: [
        ("{}", "cache of 256MiB, bodies up to 1MiB, apart for each caller"),
        (
            "{ max_size: 1GiB, max_object: 64KiB, default_ttl: 30s, stale_if_error: 5m, share: account, key_fields: [A, B] }",
            "cache of 1GiB, bodies up to 64KiB, shared by callers, by a b too, fresh for 30s if responses say nothing, "
                + "stale for 5m in place of an error"
        ),
    ])
    func `the summary says what is stored, for how long and for whom`(section: String, line: String) throws {
        let settings = try settings(of: SampleFile().route("cache: \(section)").text)
        #expect(SettingsSummary(settings).lines.contains("    \(line)"))
    }
}
