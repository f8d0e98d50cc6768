package import HTTPWire
import NIOCore
package import TokenModel

/// All routes in the order they are tried: those with a host first, then by longest path.
///
/// A table that follows another, when the configuration is read again, gives every account, upstream and route name the
/// place that it had there. So a request that was matched by the older table goes on with that one's route to its end,
/// and what stands at a place means the same to both. Places that nothing uses any more stay empty; a name that comes
/// back finds its own again.
package struct RouteTable: Sendable {
    package let routes: [Route]
    /// The accounts in the order of their slots, each with the injections its slot prepares lines for.
    package let slots: [(account: AccountID, injections: [Injection])]
    /// The upstreams in the order of their pools.
    let pools: [UpstreamOrigin]
    /// Of routes, by their numbers, with those that were there before.
    package let names: [String]
    /// Of accounts that no route uses any more.
    package let unusedSlots: [Int]

    /// - Parameter old: the table whose place this one is to take; `nil` for the first.
    package init(_ plans: [RoutePlan], following old: RouteTable? = nil) {
        var places = RoutePlaces(following: old)
        let routes = plans.map { places.place($0) }
        self.routes = routes.sorted { left, right in
            if left.hostName.isEmpty != right.hostName.isEmpty { return right.hostName.isEmpty }
            return left.depth > right.depth
        }
        self.slots = places.slots
        self.pools = places.pools
        self.names = places.names
        let used = Set(routes.map(\.slot))
        self.unusedSlots = places.slots.indices.filter { !used.contains($0) }
    }

    /// By the upstreams' pools: whether any route goes there.
    var poolsInUse: [Bool] {
        let used = Set(self.routes.map(\.pool))
        return self.pools.indices.map { used.contains($0) }
    }

    /// What ``match(_:for:)`` found.
    package struct Match: Sendable {
        package let route: Route
        /// Raw bytes of the request's path that the route's path covers.
        package let prefix: Int
    }

    /// The route that `request` goes by.
    ///
    /// - Parameter caller: who sends it. What it may not use is not passed over for another route.
    /// - Throws: ``GatewayError/Code/noRoute``, ``GatewayError/Code/callerForbidden``.
    package func match(_ request: RequestHead, for caller: Caller) throws(GatewayError) -> Match {
        let bytes = request.bytes.readableBytesUInt8Span
        for (index, route) in self.routes.enumerated() {
            if !route.hostName.isEmpty, !bytes.matches(request.hostName, lowercase: route.hostName) { continue }
            if let prefix = route.matchedPrefix(of: request, in: bytes) {
                guard caller.may(use: index, for: request) else {
                    var error = GatewayError(.callerForbidden, caller.refusal(of: route.plan))
                    error.forbiddenRoute = route.number
                    throw error
                }
                return Match(route: route, prefix: prefix)
            }
        }
        throw GatewayError(.noRoute, "no route matches the host and path; see the routes of martlet.yaml")
    }
}
