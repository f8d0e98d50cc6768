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
    /// The routes, grouped by plan. A plan whose account requests choose has one route for each account.
    package let routes: [Route]
    /// The range of each plan's routes in ``routes``.
    private let runs: [Range<Int>]
    /// The accounts in the order of their slots.
    package let slots: [Slot]
    /// The upstreams in the order of their pools.
    let pools: [UpstreamOrigin]
    /// The names of routes by their numbers, with those of earlier tables.
    package let names: [String]
    /// One for each of the ``names``.
    let cookieNotices: [CookieNotice]
    /// The response cache of each of the ``names``, if its route has or had one.
    let caches: [RouteCache?]
    /// The slots of accounts that no route uses any more.
    package let unusedSlots: [Int]

    /// An account that routes use or have used.
    package struct Slot: Sendable {
        package let account: AccountID
        /// What the slot prepares lines for.
        package let injections: [Injection]
        /// The account may be used only while an operator's approval stands.
        package let requiresApproval: Bool
    }

    /// - Parameters:
    ///   - requiresApproval: whether an account may be used only while an operator's approval stands.
    ///   - old: the table that this one replaces; `nil` for the first.
    package init(
        _ plans: [RouteConfiguration],
        requiresApproval: (AccountID) -> Bool = { _ in false },
        following old: RouteTable? = nil
    ) {
        var places = RouteIndexes(following: old)
        // A plan has no route if its account is to be chosen from none.
        var runs = plans.map { places.place($0) }.filter { !$0.isEmpty }
        runs.sort { left, right in
            if left[0].hostName.isEmpty != right[0].hostName.isEmpty { return right[0].hostName.isEmpty }
            return left[0].depth > right[0].depth
        }
        let routes = runs.flatMap { $0 }
        self.routes = routes
        var begin = 0
        self.runs = runs.map { run in
            defer { begin += run.count }
            return begin..<begin + run.count
        }
        self.slots = places.slots.map { account, injections in
            Slot(account: account, injections: injections, requiresApproval: requiresApproval(account))
        }
        self.pools = places.pools
        self.names = places.names
        self.cookieNotices = places.cookieNotices
        self.caches = places.caches
        let used = Set(routes.map(\.slot))
        self.unusedSlots = places.slots.indices.filter { !used.contains($0) }
    }

    /// The first route of each plan: a plan's routes differ only in their accounts.
    var plans: [Route] { self.runs.map { self.routes[$0.lowerBound] } }

    /// For each pool, whether any route uses it.
    var poolsInUse: [Bool] {
        let used = Set(self.routes.map(\.pool))
        return self.pools.indices.map { used.contains($0) }
    }

    /// The index of the route that has the name, account and upstream of `route`, which may be from an older table.
    func index(of route: Route) -> Int? {
        self.routes.firstIndex {
            $0.number == route.number && $0.slot == route.slot && $0.plan.upstream == route.plan.upstream
        }
    }

    /// What ``match(_:for:)`` found.
    package struct Match: Sendable {
        package let route: Route
        /// Raw bytes of the request's path that the route's path covers.
        package let prefix: Int
    }

    /// The route for `request`.
    ///
    /// - Parameter caller: the sender. A matching route that it may not use is an error; no other route is tried.
    /// - Throws: ``GatewayError/Code/noRoute``, ``GatewayError/Code/callerForbidden``.
    package func match(_ request: RequestHead, for caller: Caller) throws(GatewayError) -> Match {
        let bytes = request.bytes.readableBytesUInt8Span
        for run in self.runs {
            let route = self.routes[run.lowerBound]
            if !route.hostName.isEmpty, !bytes.matches(request.hostName(in: bytes), lowercase: route.hostName) {
                continue
            }
            if let prefix = route.matchedPrefix(of: request, in: bytes) {
                do throws(GatewayError) {
                    let index =
                        route.accountName == nil
                        ? run.lowerBound : try self.choice(of: request, among: run, for: caller)
                    guard caller.may(use: index, for: request) else {
                        throw GatewayError(.callerForbidden, caller.refusal(of: self.routes[index].plan))
                    }
                    return Match(route: self.routes[index], prefix: prefix)
                } catch {
                    var error = error
                    error.forbiddenRoute = route.number
                    throw error
                }
            }
        }
        throw GatewayError(.noRoute, "no route matches the host and path; see the routes of martlet.yaml")
    }
}

/// Routes whose account a request names in `Martlet-Account`.
extension RouteTable {
    /// The index of the route for the account that `request` names. Whether the caller may use it is not checked here.
    ///
    /// A caller gets the same error for an account that does not exist as for one that is not its own.
    ///
    /// - Parameter run: the routes of one plan, in the order of their accounts' names.
    /// - Throws: ``GatewayError/Code/callerForbidden``.
    func choice(of request: RequestHead, among run: Range<Int>, for caller: Caller) throws(GatewayError) -> Int {
        // A configuration that leads here is refused when it is read. Here it would mean that anybody may choose.
        guard caller.name != nil else {
            throw GatewayError(.callerForbidden, "no callers are configured, so no account can be chosen")
        }
        let bytes = request.bytes.readableBytesUInt8Span
        guard
            let field = request.fields.first(where: {
                $0.known == .martlet && bytes.matches($0.name, "martlet-account")
            })
        else { throw GatewayError(.callerForbidden, reason: "the route needs Martlet-Account: the name of an account") }
        var run = run
        while !run.isEmpty {
            let middle = run.lowerBound + run.count / 2
            switch bytes.order(field.value, besides: self.routes[middle].accountName ?? []) {
            case .same: return middle
            case .before: run = run.lowerBound..<middle
            case .behind: run = middle + 1..<run.upperBound
            }
        }
        throw GatewayError(.callerForbidden, "Martlet-Account names no account")
    }
}

private enum Order { case before, same, behind }

extension Span<UInt8> {
    /// How the bytes in `range` sort relative to `name`.
    fileprivate func order(_ range: ByteRange, besides name: [UInt8]) -> Order {
        for index in 0..<Swift.min(range.count, name.count) {
            let byte = self[range.lower + index]
            if byte != name[index] { return byte < name[index] ? .before : .behind }
        }
        if range.count == name.count { return .same }
        return range.count < name.count ? .before : .behind
    }
}
