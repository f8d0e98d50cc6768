package import HTTPWire
import NIOCore
package import TokenModel

/// All routes in the order they are tried: those with a host first, then by longest path.
package struct RouteTable: Sendable {
    package let routes: [Route]
    /// The accounts in the order of their slots, each with the injections its slot prepares lines for.
    package let slots: [(account: AccountID, injections: [Injection])]
    /// The upstreams in the order of their pools.
    let pools: [UpstreamOrigin]

    package init(_ plans: [RoutePlan]) {
        var slots: [(account: AccountID, injections: [Injection])] = []
        var pools: [UpstreamOrigin] = []
        let routes = plans.enumerated().map { index, plan in
            let slot =
                slots.firstIndex { $0.account == plan.account }
                ?? {
                    slots.append((plan.account, []))
                    return slots.count - 1
                }()
            let line =
                slots[slot].injections.firstIndex(of: plan.injection)
                ?? {
                    slots[slot].injections.append(plan.injection)
                    return slots[slot].injections.count - 1
                }()
            let origin = UpstreamOrigin(plan)
            let pool =
                pools.firstIndex(of: origin)
                ?? {
                    pools.append(origin)
                    return pools.count - 1
                }()
            return Route(plan, number: index + 1, slot: slot, line: line, pool: pool)
        }
        self.routes = routes.sorted { left, right in
            if left.hostName.isEmpty != right.hostName.isEmpty { return right.hostName.isEmpty }
            return left.depth > right.depth
        }
        self.slots = slots
        self.pools = pools
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
