import HTTPCaching
import Testing
import TokenModel

@Suite struct ResponseCacheTests {
    private let cache = ResponseCache(maxSize: 1 << 20, maxObject: 64 << 10)
    private let key = Given.key("/a")

    // MARK: - Looking up

    @Test func `a stored response is found, until it is removed`() throws {
        #expect(try self.cache.look(self.key) == nil)
        let stored = try #require(try self.cache.store(self.key, 10))
        #expect(try self.cache.look(self.key) === stored)

        self.cache.remove(stored, at: self.key)

        #expect(try self.cache.look(self.key) == nil)
        #expect(self.cache.statistics.entries == 0)
    }

    @Test func `a key is found by all of its bytes`() throws {
        try self.cache.store(Given.key("/a", "b"), 10)

        #expect(try self.cache.look(Given.key("/ab")) == nil)
        #expect(try self.cache.look(Given.key("/a", "c")) == nil)
        #expect(try self.cache.look(Given.key("/a", "b")) != nil)
    }

    @Test(arguments: [
        (Given.owner("g"), true),
        (CacheOwner(grant: GrantID("g"), scopes: ["read"], observedEpoch: Epoch(7)), true),
        (Given.owner("another", scopes: ["read"]), false),
        (Given.owner("g", scopes: ["read", "write"]), false),
    ])
    func `a response is found with the authorization that fetched it only`(owner: CacheOwner, isFound: Bool) throws {
        try self.cache.store(self.key, 10, owner: Given.owner("g"))

        let found = try self.cache.find(self.key, for: owner, matching: Given.request(accept: "x"))

        #expect((found.stored != nil) == isFound)
        #expect(!found.hasOtherVariants)
    }

    @Test func `each variant serves the requests that it matches`() throws {
        try self.cache.store(self.key, 10, accept: "a")
        try self.cache.store(self.key, 20, accept: "b")

        #expect(try self.cache.look(self.key, accept: "a")?.body.count == 10)
        #expect(try self.cache.look(self.key, accept: "b")?.body.count == 20)
        let other = try self.cache.find(self.key, for: Given.owner, matching: Given.request(accept: "c"))
        #expect(other.stored == nil)
        #expect(other.hasOtherVariants)
    }

    @Test func `of two responses that match, the later one is found`() throws {
        try self.cache.store(self.key, 10, accept: "x")
        try self.cache.store(self.key, 20)
        #expect(try self.cache.look(self.key)?.body.count == 20)

        try self.cache.store(self.key, 30, accept: "x")

        #expect(try self.cache.look(self.key)?.body.count == 30)
    }

    @Test func `a new response takes the place of the one for the same requests`() throws {
        try self.cache.store(self.key, 10, accept: "x")
        let bytes = self.cache.statistics.bytes
        try self.cache.store(self.key, 10, accept: "x")

        #expect(self.cache.statistics == CacheStatistics(entries: 1, bytes: bytes, evictions: 0))
    }

    @Test func `the oldest of too many variants goes`() throws {
        for accept in 0...16 { try self.cache.store(self.key, 10, accept: "\(accept)") }

        #expect(self.cache.statistics.entries == 16)
        #expect(try self.cache.look(self.key, accept: "0") == nil)
        #expect(try self.cache.look(self.key, accept: "1") != nil)
    }

    // MARK: - Updating

    @Test func `an updated response takes the place of the old one`() throws {
        let old = try #require(try self.cache.store(self.key, 10))
        let bytes = self.cache.statistics.bytes
        let new = try Given.stored(old.body)

        #expect(self.cache.replace(old, by: new, at: self.key))
        #expect(try self.cache.look(self.key) === new)
        #expect(self.cache.statistics.bytes == bytes)
        #expect(!self.cache.replace(old, by: new, at: self.key))
        #expect(self.cache.statistics.bytes == bytes)
    }

    @Test(arguments: [false, true]) func `a revalidated response is stored, unless the old one was removed meanwhile`(
        isRemoved: Bool
    ) throws {
        let old = try #require(try self.cache.store(self.key, 10))
        let fill = try self.cache.lead(self.key)
        if isRemoved { self.cache.remove(old, at: self.key) }
        let new = try Given.stored(old.body)

        #expect(fill.revalidated(old, as: new) == !isRemoved)
        #expect(try self.cache.look(self.key) === (isRemoved ? nil : new))
        #expect(old.isWithdrawn == isRemoved)
    }

    // MARK: - Invalidating and purging

    @Test func `an invalidation removes the responses of a resource for all requesters, and no others`() throws {
        for requester in 0..<300 { try self.cache.store(Given.key("/a", "\(requester)"), 10) }
        try self.cache.store(Given.key("/b", "1"), 10)

        self.cache.invalidate(resourceOf: CacheKey(resource: "/a".utf8))

        #expect(self.cache.statistics.entries == 1)
        #expect(try self.cache.look(Given.key("/a", "7")) == nil)
        #expect(try self.cache.look(Given.key("/b", "1")) != nil)
    }

    @Test func `a purge removes what it selects, and says what it was`() throws {
        for number in 0..<300 { try self.cache.store(Given.key("/\(number % 3)/\(number)"), 100) }
        let before = self.cache.statistics.bytes

        let purged = self.cache.purge { key, _ in key.resource.starts(with: "/1/".utf8) }

        #expect(purged.entries == 100)
        #expect(self.cache.statistics.entries == 200)
        #expect(purged.bytes == before - self.cache.statistics.bytes)
        #expect(try self.cache.look(Given.key("/1/1")) == nil)
        #expect(try self.cache.look(Given.key("/2/2")) != nil)
    }

    @Test func `after a purge of everything no memory is in use`() throws {
        for number in 0..<300 { try self.cache.store(Given.key("/\(number)"), number * 7) }
        let held = self.cache.statistics.bytes

        let purged = self.cache.purge { _, _ in true }

        #expect(purged.entries == 300)
        #expect(purged.bytes == held)
        #expect(self.cache.statistics == CacheStatistics(entries: 0, bytes: 0, evictions: 0))
    }

    @Test(arguments: [false, true]) func `a response that was asked for before is not stored`(isPurge: Bool) throws {
        let fill = try self.cache.lead(self.key)
        let waiter = RecordingWaiter()
        guard case .waits = try self.cache.begin(self.key, waiter) else { Issue.record("does not wait"); return }
        #expect(fill.start(length: 10))

        if isPurge { _ = self.cache.purge { _, _ in true } } else { self.cache.invalidate(resourceOf: self.key) }

        // Nobody gets a response older than the purge, but the next one may be stored.
        #expect(waiter.outcomes == [.retry])
        let next = try self.cache.lead(self.key)
        #expect(fill.append(Given.bytes(10)))
        #expect(fill.finish { try? Given.stored($0) } == nil)
        #expect(try self.cache.look(self.key) == nil)
        #expect(next.start(length: 20))
        #expect(next.append(Given.bytes(20)))
        #expect(next.finish { try? Given.stored($0) } != nil)
        #expect(try self.cache.look(self.key)?.body.count == 20)
    }

    @Test func `a revalidation that began before a purge is not stored`() throws {
        let old = try #require(try self.cache.store(self.key, 10))
        let fill = try self.cache.lead(self.key)
        _ = self.cache.purge { _, _ in true }

        #expect(try !fill.revalidated(old, as: Given.stored(old.body)))
        #expect(self.cache.statistics.entries == 0)
    }
}

@Suite struct CacheRoomTests {
    @Test func `what does not fit makes others go`() throws {
        let cache = ResponseCache(maxSize: 100_000, maxObject: 10_000)
        for number in 0..<100 { try #require(try cache.store(Given.key("/\(number)"), 5_000) != nil) }

        let statistics = cache.statistics
        #expect(statistics.bytes <= 100_000)
        #expect(statistics.bytes > 80_000)
        #expect(statistics.entries + statistics.evictions == 100)
    }

    @Test(arguments: [nil, 10_001]) func `a body that is too long is not stored, and its key is remembered`(
        length: Int?
    ) throws {
        let cache = ResponseCache(maxSize: 100_000, maxObject: 10_000)
        let key = Given.key("/a")
        let fill = try cache.lead(key)
        let waiter = RecordingWaiter()
        _ = try cache.begin(key, waiter)

        #expect(fill.start(length: length, now: Given.now(0)) == (length == nil))
        #expect(!fill.append(Given.bytes(10_001), now: Given.now(0)))

        #expect(waiter.outcomes == [.goAlone])
        #expect(cache.statistics.bytes == 0)
        let next = try cache.lead(key)
        guard case .alone = try cache.begin(key, RecordingWaiter()) else { Issue.record("not remembered"); return }
        withExtendedLifetime(next) {}
    }

    @Test func `fills count against the bound while they last`() throws {
        let cache = ResponseCache(maxSize: 100_000, maxObject: 60_000)
        let first = try cache.lead(Given.key("/a"))
        #expect(first.start(length: 60_000))
        #expect(cache.statistics.bytes > 60_000)
        let second = try cache.lead(Given.key("/b"))

        #expect(!second.start(length: 60_000))
        first.abandon(.retry, remember: false)
        #expect(cache.statistics.bytes == 0)
        #expect(try cache.lead(Given.key("/c")).start(length: 60_000))
    }

    @Test func `an evicted body counts as long as somebody reads it`() throws {
        let cache = ResponseCache(maxSize: 100_000, maxObject: 60_000)
        let key = Given.key("/a")
        var reader = try cache.store(key, 60_000)
        #expect(reader != nil)
        _ = cache.purge { _, _ in true }

        #expect(try cache.store(Given.key("/b"), 60_000) == nil)
        reader = nil
        #expect(try cache.store(Given.key("/c"), 60_000) != nil)
    }

    @Test func `a smaller bound makes responses go`() throws {
        let cache = ResponseCache(maxSize: 1 << 20, maxObject: 10_000)
        for number in 0..<100 { try cache.store(Given.key("/\(number)"), 5_000) }

        cache.resize(maxSize: 50_000, maxObject: 4_000)

        #expect(cache.statistics.bytes <= 50_000)
        #expect(cache.statistics.entries > 5)
        #expect(try cache.store(Given.key("/new"), 5_000) == nil)
        #expect(try cache.store(Given.key("/small"), 4_000) != nil)
    }

    @Test func `a larger bound has room for more`() throws {
        let cache = ResponseCache(maxSize: 20_000, maxObject: 10_000)
        cache.resize(maxSize: 1 << 20, maxObject: 60_000)

        for number in 0..<10 { #expect(try cache.store(Given.key("/\(number)"), 60_000) != nil) }
        #expect(cache.statistics.entries == 10)
    }
}
