import TokenModel

/// Where routes find what they share: gives places out, beginning with those that an older table has given.
struct RoutePlaces {
    private(set) var slots: [(account: AccountID, injections: [Injection])]
    private(set) var pools: [UpstreamOrigin]
    private(set) var names: [String]
    /// Places in ``names`` that routes of the table under way have.
    private var taken: Set<Int> = []
    /// What stands for each set of files. It is one object, however often the files are read: what it says of them can
    /// be renewed at one place.
    private var trusts: [UpstreamTLS]

    init(following old: RouteTable?) {
        self.slots = old?.slots ?? []
        self.pools = old?.pools ?? []
        self.names = old?.names ?? []
        self.trusts = self.pools.compactMap(\.tls)
    }

    /// The route of a plan, with its places.
    mutating func place(_ plan: RoutePlan) -> Route {
        var plan = plan
        if let tls = plan.upstream.tls {
            if let known = self.trusts.first(where: { $0 == tls }) {
                plan.upstream.tls = known
            } else {
                self.trusts.append(tls)
            }
        }
        let slot = self.slot(of: plan.account)
        return Route(
            plan,
            number: self.name(of: plan.name) + 1,
            slot: slot,
            line: self.line(of: plan.injection, in: slot),
            pool: self.pool(of: UpstreamOrigin(plan))
        )
    }

    private mutating func name(of name: String) -> Int {
        let known = self.names.indices.first { self.names[$0] == name && !self.taken.contains($0) }
        if known == nil { self.names.append(name) }
        let place = known ?? self.names.count - 1
        self.taken.insert(place)
        return place
    }

    private mutating func slot(of account: AccountID) -> Int {
        if let slot = self.slots.firstIndex(where: { $0.account == account }) { return slot }
        self.slots.append((account, []))
        return self.slots.count - 1
    }

    private mutating func line(of injection: Injection, in slot: Int) -> Int {
        if let line = self.slots[slot].injections.firstIndex(of: injection) { return line }
        self.slots[slot].injections.append(injection)
        return self.slots[slot].injections.count - 1
    }

    private mutating func pool(of origin: UpstreamOrigin) -> Int {
        if let pool = self.pools.firstIndex(of: origin) { return pool }
        self.pools.append(origin)
        return self.pools.count - 1
    }
}
