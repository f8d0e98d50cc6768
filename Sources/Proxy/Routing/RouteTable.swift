package import HTTPWire
import NIOCore
package import TokenModel

/// All routes in the order in which they are tried: those with a host first, then by longest path. It is a class for
/// the same reason as ``Gateway``.
///
/// When the configuration is reloaded, the new table gives every account, upstream and route name the index that it had
/// in the old table. So a request that was matched by the old table goes on with that table's route to its end, and an
/// index means the same in both. Indexes that nothing uses any more stay empty; a name that comes back gets its old
/// index again.
package final class RouteTable: Sendable {
    package let routes: [Route]
    /// The accounts that the configuration names, in the order of their slots. Accounts of families have none here: each
    /// event loop makes theirs (``SlotTable``).
    package let slots: [Slot]
    /// What slots prepare lines for, in the order of the lines.
    package let injections: [Injection]
    /// The upstreams in the order of their pools.
    let pools: [UpstreamOrigin]
    /// The names of routes by their numbers, with those of earlier tables.
    package let names: [String]
    /// One for each of the ``names``.
    let cookieNotices: [CookieNotice]
    /// The response cache of each of the ``names``, if its route has or had one.
    let caches: [RouteCache?]
    /// The gateway's own member of `Via`, the same from its start to its end.
    let via: Via
    /// The slots of accounts that no route uses any more.
    package let unusedSlots: [Int]
    private let approvalRule: @Sendable (AccountID) -> Bool

    /// An account that routes use or have used.
    package struct Slot: Sendable {
        package let account: AccountID
        /// The account may be used only while an operator's approval stands.
        package let requiresApproval: Bool
    }

    /// - Parameters:
    ///   - requiresApproval: whether an account may be used only while an operator's approval stands.
    ///   - via: the gateway's own member of `Via`, if this is the first table.
    ///   - old: the table that this one replaces; `nil` for the first.
    package init(
        _ plans: [RouteConfiguration],
        requiresApproval: @escaping @Sendable (AccountID) -> Bool = { _ in false },
        via: Via = .random(),
        following old: RouteTable? = nil
    ) {
        var places = RouteIndexes(following: old, via: via)
        let routes = plans.compactMap { places.place($0) }.sorted { left, right in
            if left.hostName.isEmpty != right.hostName.isEmpty { return right.hostName.isEmpty }
            return left.depth > right.depth
        }
        self.routes = routes
        self.approvalRule = requiresApproval
        self.slots = places.slots.map { Slot(account: $0, requiresApproval: requiresApproval($0)) }
        self.injections = places.injections
        self.pools = places.pools
        self.names = places.names
        self.cookieNotices = places.cookieNotices
        self.caches = places.caches
        self.via = places.via
        let fixed = Set(routes.compactMap(\.slot))
        self.unusedSlots = places.slots.indices.filter { slot in
            !fixed.contains(slot) && !Self.offer(places.slots[slot], routes)
        }
    }

    private static func offer(_ account: AccountID, _ routes: [Route]) -> Bool {
        routes.contains { $0.choices?.covers(account) == true }
    }

    /// Whether requests on any route may choose the account.
    func offers(_ account: AccountID) -> Bool { Self.offer(account, self.routes) }

    /// The account may be used only while an operator's approval stands.
    func requiresApproval(_ account: AccountID) -> Bool { self.approvalRule(account) }

    /// For each pool, whether any route uses it.
    var poolsInUse: [Bool] {
        let used = Set(self.routes.map(\.pool))
        return self.pools.indices.map { used.contains($0) }
    }

    /// The index of the route that has the name and upstream of `route`, which may be from an older table, and serves
    /// `account`.
    func index(of route: Route, serving account: AccountID) -> Int? {
        self.routes.firstIndex { other in
            other.number == route.number && other.plan.upstream == route.plan.upstream
                && (other.choices?.covers(account) ?? (other.plan.account == .fixed(account)))
        }
    }

    /// A route that matches a request.
    package struct Found: Sendable {
        package let route: Route
        /// The route's index in ``RouteTable/routes``.
        package let index: Int
        /// Raw bytes of the request's path that the route's path covers.
        package let prefix: Int
    }

    /// What ``Gateway/decide(_:from:)`` found: a route, and the account.
    package struct Match: Sendable {
        package let route: Route
        /// Raw bytes of the request's path that the route's path covers.
        package let prefix: Int
        /// The number of the account's slot on the request's event loop.
        package let slot: Int

        package init(route: Route, prefix: Int, slot: Int) {
            self.route = route
            self.prefix = prefix
            self.slot = slot
        }
    }

    /// The route for `request`, whoever sends it.
    ///
    /// - Throws: ``GatewayError/Code/noRoute``.
    package func find(_ request: RequestHead) throws(GatewayError) -> Found {
        let bytes = request.bytes.readableBytesUInt8Span
        for index in self.routes.indices {
            let route = self.routes[index]
            if !route.hostName.isEmpty, !bytes.matches(request.hostName(in: bytes), lowercase: route.hostName) {
                continue
            }
            if let prefix = route.matchedPrefix(of: request, in: bytes) {
                return Found(route: route, index: index, prefix: prefix)
            }
        }
        throw GatewayError(.noRoute, "no route matches the host and path; see the routes of martlet.yaml")
    }
}
