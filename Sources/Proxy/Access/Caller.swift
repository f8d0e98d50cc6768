import HTTPWire
import NIOCore
import SystemSupport
import TokenModel

/// A caller that was authenticated for one request. Only ``CallerTable/authenticate(_:_:)`` returns one, and no route
/// is found without one.
package final class Caller: Sendable {
    /// The caller's name in the configuration; `nil` if the configuration names no callers.
    package let name: String?
    /// Whether the caller may use each route, in the table's order; `nil` for all. Where requests choose the account,
    /// that is judged apart.
    private let routes: [Bool]?
    /// The accounts that the caller may use; `nil` for all.
    private let accounts: AccountSet?
    /// A bit for each known method; `nil` for all methods.
    private let methods: UInt8?
    /// Further methods, as they stand in a request.
    private let otherMethods: [[UInt8]]
    /// All allowed methods, in lower case: the values that a method override field may have.
    private let overriding: [[UInt8]]
    /// The configuration, to explain a refusal.
    private let plan: CallerConfiguration?
    /// Identifies the table that made this caller: only that table knows whether the caller may still be let in.
    let configGeneration: CallerTable.ConfigGeneration

    /// Anyone, for a gateway whose configuration names no callers.
    init(of configGeneration: CallerTable.ConfigGeneration) {
        self.configGeneration = configGeneration
        self.name = nil
        self.routes = nil
        self.accounts = nil
        self.methods = nil
        self.otherMethods = []
        self.overriding = []
        self.plan = nil
    }

    init(_ plan: CallerConfiguration, for table: RouteTable, of configGeneration: CallerTable.ConfigGeneration) {
        self.configGeneration = configGeneration
        self.name = plan.name
        let routes = plan.routes.map { Set($0) }
        let accounts = plan.accounts.map { AccountSet($0) }
        self.accounts = accounts
        self.routes =
            routes == nil && accounts == nil
            ? nil
            : table.routes.map { route in
                routes?.contains(route.plan.name) != false && accounts?.covers(fixedOf: route.plan) != false
            }
        self.methods = plan.methods.map { names in
            names.reduce(0) { bits, name in HTTPMethod(name: name).map { bits | 1 << $0.rawValue } ?? bits }
        }
        self.otherMethods = (plan.methods ?? []).filter { HTTPMethod(name: $0) == nil }.map { Array($0.utf8) }
        self.overriding = (plan.methods ?? []).map { Array($0.lowercased().utf8) }
        self.plan = plan
    }

    /// Whether the caller may use the route at `index` of the table for such a request.
    func may(use index: Int, for request: RequestHead) -> Bool {
        if let routes = self.routes, !routes[index] { return false }
        return self.mayUseMethod(of: request) && (!request.overridesMethod || self.mayOverrideMethod(in: request))
    }

    /// Whether the caller may use an account that its request names.
    func may(use account: AccountID) -> Bool { self.accounts?.covers(account) ?? true }

    /// Whether a tunnel that the caller opened by the route at `index` of the table may go on. Tunnels are opened with
    /// GET.
    func mayTunnel(by index: Int) -> Bool {
        if let routes = self.routes, !routes[index] { return false }
        return self.methods.map { $0 & 1 << HTTPMethod.get.rawValue != 0 } ?? true
    }

    /// For the operator: what part of a request is not allowed, after ``may(use:for:)`` has returned `false`.
    func refusal(of route: RouteConfiguration) -> String {
        if self.plan?.routes?.contains(route.name) == false { return "the caller may not use the route" }
        if self.accounts?.covers(fixedOf: route) == false { return "the caller may not use the route's account" }
        return "the caller may not use the method"
    }

    /// Whether the caller may use each method that a field asks for: many upstreams use that method instead of the
    /// request's own.
    private func mayOverrideMethod(in request: RequestHead) -> Bool {
        let bytes = request.bytes.readableBytesUInt8Span
        return request.fields.allSatisfy { field in
            guard field.known.isMethodOverride else { return true }
            guard HTTPMethod.isServed(field.value, in: bytes) else { return false }
            return self.methods == nil || self.overriding.contains { bytes.matches(field.value, lowercase: $0) }
        }
    }

    private func mayUseMethod(of request: RequestHead) -> Bool {
        guard let methods = self.methods else { return true }
        guard request.method == .other else { return methods & 1 << request.method.rawValue != 0 }
        let bytes = request.bytes.readableBytesUInt8Span
        return self.otherMethods.contains { name in
            name.count == request.methodName.count
                && name.indices.allSatisfy { name[$0] == bytes[request.methodName.lower + $0] }
        }
    }
}

/// Some accounts, prepared to be asked for each request.
struct AccountSet: Sendable {
    private let names: Set<AccountID>
    private let families: [AccountFamily]

    init(_ patterns: [AccountPattern]) {
        var (names, families) = (Set<AccountID>(), [AccountFamily]())
        for pattern in patterns {
            switch pattern {
            case .name(let account): names.insert(account)
            case .family(let family): families.append(family)
            }
        }
        self.names = names
        self.families = families
    }

    func covers(_ account: AccountID) -> Bool {
        for family in self.families where family.contains(account) { return true }
        return self.names.contains(account)
    }
}

extension AccountSet {
    /// Whether a route's account is covered. One that a request chooses is judged with the request.
    fileprivate func covers(fixedOf route: RouteConfiguration) -> Bool {
        if case .fixed(let account) = route.account { self.covers(account) } else { true }
    }
}

extension HTTPMethod {
    /// The known method of that name; `nil` for any other name.
    fileprivate init?(name: String) {
        switch name {
        case "GET": self = .get
        case "HEAD": self = .head
        case "POST": self = .post
        case "PUT": self = .put
        case "DELETE": self = .delete
        case "OPTIONS": self = .options
        case "PATCH": self = .patch
        default: return nil
        }
    }
}

/// Which processes are taken for a caller, by their `PeerIdentity`: those of a user, of a group, or of a user in that
/// group.
package struct PeerRule: Hashable, Sendable {
    package var user: UInt32?
    package var group: UInt32?

    package init(user: UInt32? = nil, group: UInt32? = nil) {
        self.user = user
        self.group = group
    }

    /// A rule without user and group matches nobody.
    func covers(_ peer: PeerIdentity) -> Bool {
        guard self.user != nil || self.group != nil else { return false }
        return (self.user ?? peer.user) == peer.user && (self.group ?? peer.group) == peer.group
    }
}
