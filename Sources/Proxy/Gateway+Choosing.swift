import HTTPWire
import NIOCore
package import TokenModel

/// Which route a request takes, and whose token it gets.
extension Gateway {
    /// The route for `request`, and the account's slot.
    ///
    /// - Parameter caller: the sender. A matching route that it may not use is an error; no other route is tried.
    /// - Throws: ``GatewayError/Code/noRoute``, ``GatewayError/Code/callerForbidden``, or what becomes of a request that
    ///   names an account without a slot.
    func match(_ request: RequestHead, for caller: Caller) throws(GatewayError) -> RouteTable.Match {
        let found = try self.table.find(request)
        do throws(GatewayError) {
            guard caller.may(use: found.index, for: request) else {
                throw GatewayError(.callerForbidden, caller.refusal(of: found.route.plan))
            }
            let slot: Int
            if let fixed = found.route.slot {
                slot = fixed
            } else {
                slot = try self.chosenSlot(request, on: found.route, for: caller)
            }
            return RouteTable.Match(route: found.route, prefix: found.prefix, slot: slot)
        } catch {
            var error = error
            error.matchedRoute = found.route.number
            throw error
        }
    }

    /// The account whose token a request gets.
    package func account(of match: RouteTable.Match) -> AccountID {
        if case .fixed(let account) = match.route.plan.account { account } else { self.slots[match.slot].account }
    }

    /// The slot of the account that `request` names in `Martlet-Account`.
    ///
    /// A caller gets the same error for an account that does not exist as for one that is not its own.
    private func chosenSlot(_ request: RequestHead, on route: Route, for caller: Caller) throws(GatewayError) -> Int {
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
        let name = bytes.extracting(field.value.lower..<field.value.upper)
        let number = self.slots.number(of: name)
        // A longer name is nobody's, and need not be copied.
        guard number != nil || name.count <= AccountFamily.longestName else { throw Self.namesNoAccount }
        let account = number.map { self.slots[$0].account } ?? AccountID(name)
        guard route.choices?.covers(account) == true else { throw Self.namesNoAccount }
        guard caller.may(use: account) else {
            throw GatewayError(.callerForbidden, "the caller may not use the account that it names")
        }
        if let number { return number }
        return try self.newSlot(of: account, on: route)
    }

    private static var namesNoAccount: GatewayError {
        GatewayError(.callerForbidden, "Martlet-Account names no account")
    }

    /// A slot for an account of a family, at its first use on this loop: its name costs nothing before that, and names
    /// that nobody has cost nothing at all.
    private func newSlot(of account: AccountID, on route: Route) throws(GatewayError) -> Int {
        guard !self.isLocked else { throw GatewayError(CredentialError.locked, of: account, on: route) }
        guard let standing = self.member(account) else {
            throw GatewayError(
                CredentialError(
                    .accountEmpty,
                    "no account of that name exists: it was not imported or signed in, or it was removed"
                ),
                of: account,
                on: route
            )
        }
        let number = self.slots.add(account, requiresApproval: self.table.requiresApproval(account))
        self.slots[number].approve(until: standing.approvedUntil)
        if let credential = standing.credential, self.install(credential, slot: number) { self.slots.keep(number) }
        return number
    }
}

extension GatewayError {
    fileprivate init(_ error: CredentialError, of account: AccountID, on route: Route) {
        self.init(error)
        self.account = account
        self.route = route.plan.name
    }
}

extension AccountID {
    fileprivate init(_ name: Span<UInt8>) {
        // The bytes are read during the call only, while the span is valid.
        self.init(unsafe name.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) })
    }
}
