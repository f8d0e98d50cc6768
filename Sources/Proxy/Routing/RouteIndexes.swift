import HTTPWire
import TokenModel

/// Assigns the indexes under which routes find what they share. Indexes that an older table has assigned stay the same.
struct RouteIndexes {
    /// The accounts that the configuration names.
    private(set) var slots: [AccountID]
    private(set) var injections: [Injection]
    private(set) var pools: [UpstreamOrigin]
    private(set) var names: [String]
    /// One for each of the ``names``.
    private(set) var cookieNotices: [CookieNotice]
    /// The response cache of each of the ``names``; `nil` for routes that have never had one.
    private(set) var caches: [RouteCache?]
    let via: Via

    private var slotOf: [AccountID: Int] = [:]
    private var poolOf: [UpstreamOrigin: Int] = [:]
    /// The indexes in ``names`` that no route of this table has yet, the last first.
    private var freeNames: [String: [Int]] = [:]
    /// The one value for each set of files. However often the files are read, this value stays the same object, so that
    /// its TLS context can be renewed in one place.
    private var trusts: Set<UpstreamTLS>

    init(following old: RouteTable?, via: Via) {
        self.slots = old?.slots.map(\.account) ?? []
        self.injections = old?.injections ?? []
        self.pools = old?.pools ?? []
        self.names = old?.names ?? []
        self.cookieNotices = old?.cookieNotices ?? []
        self.caches = old?.caches ?? []
        self.via = old?.via ?? via
        self.trusts = Set(self.pools.compactMap(\.tls))
        for (place, account) in self.slots.enumerated() { self.slotOf[account] = place }
        for (place, pool) in self.pools.enumerated() { self.poolOf[pool] = place }
        for (place, name) in self.names.enumerated().reversed() { self.freeNames[name, default: []].append(place) }
    }

    /// The route of a plan, with its indexes; `nil` where its account is to be chosen from none.
    mutating func place(_ plan: RouteConfiguration) -> Route? {
        let slot: Int?
        switch plan.account {
        case .fixed(let account): slot = self.slot(of: account)
        case .chosen(let patterns):
            guard !patterns.isEmpty else { return nil }
            for case .name(let account) in patterns { _ = self.slot(of: account) }
            slot = nil
        }
        var plan = plan
        if let tls = plan.upstream.tls { plan.upstream.tls = self.trusts.insert(tls).memberAfterInsert }
        let name = self.name(of: plan.name)
        self.caches[name] = RouteCache.following(self.caches[name], for: plan)
        return Route(
            plan,
            number: name + 1,
            slot: slot,
            line: self.line(of: plan.injection),
            pool: self.pool(of: UpstreamOrigin(plan)),
            via: self.via,
            cookieNotice: self.cookieNotices[name],
            cache: plan.cache == nil ? nil : self.caches[name]
        )
    }

    private mutating func name(of name: String) -> Int {
        if let place = self.freeNames[name]?.popLast() { return place }
        self.names.append(name)
        self.cookieNotices.append(CookieNotice())
        self.caches.append(nil)
        return self.names.count - 1
    }

    private mutating func slot(of account: AccountID) -> Int {
        if let slot = self.slotOf[account] { return slot }
        self.slotOf[account] = self.slots.count
        self.slots.append(account)
        return self.slots.count - 1
    }

    private mutating func line(of injection: Injection) -> Int {
        if let line = self.injections.firstIndex(of: injection) { return line }
        self.injections.append(injection)
        return self.injections.count - 1
    }

    private mutating func pool(of origin: UpstreamOrigin) -> Int {
        if let pool = self.poolOf[origin] { return pool }
        self.poolOf[origin] = self.pools.count
        self.pools.append(origin)
        return self.pools.count - 1
    }
}
