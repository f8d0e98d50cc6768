package import TokenModel

/// The device codes in use (RFC 8628). A person approves the user code, then the client's next poll gets tokens.
package struct DeviceCodes: Sendable {
    /// How long a code can be approved and redeemed, if nothing else is said.
    package static let lifetime: Duration = .seconds(600)

    /// The minimum time between two polls, if nothing else is said.
    package static let interval: Duration = .seconds(1)

    /// The account and scope that a code signs in.
    package struct Request: Equatable, Sendable {
        package let account: String
        package let scope: String?

        package init(account: String, scope: String?) {
            self.account = account
            self.scope = scope
        }
    }

    private struct Entry {
        let request: Request
        let userCode: String
        let interval: Duration
        let expiresAt: Moment
        var approval: ApprovedSignIn?
        var polledAt: Moment?
    }

    private var entries: [String: Entry] = [:]

    package init() {}

    /// Registers a device code and its user code.
    package mutating func start(
        _ request: Request,
        deviceCode: String,
        userCode: String,
        interval: Duration = Self.interval,
        lifetime: Duration = Self.lifetime,
        at now: Moment
    ) {
        self.entries[deviceCode] = Entry(
            request: request,
            userCode: userCode,
            interval: interval,
            expiresAt: now.advanced(by: lifetime)
        )
    }

    /// Records that a person approved `userCode`.
    ///
    /// - Parameter account: who approved. Nil for the account of the request.
    /// - Returns: whether such a code exists and has not expired.
    package mutating func approve(userCode: String, as account: String? = nil, at now: Moment) -> Bool {
        guard
            let match = self.entries.first(where: {
                $0.value.userCode == userCode && now.boot < $0.value.expiresAt.boot
            })
        else {
            return false
        }
        let request = match.value.request
        self.entries[match.key]?.approval = ApprovedSignIn(
            account: account ?? request.account,
            scope: request.scope,
            at: now
        )
        return true
    }

    /// Checks whether the code's person has approved it. A code that yields its approval is used up.
    ///
    /// Throws `authorization_pending`, `slow_down` for polls closer than the interval, or what
    /// ``requireUsable(_:at:)`` throws (RFC 8628 section 3.5).
    package mutating func poll(_ deviceCode: String, at now: Moment) throws(GrantRefusal) -> ApprovedSignIn {
        let entry = try self.usable(deviceCode, at: now)
        if let polledAt = entry.polledAt, polledAt.duration(to: now) < entry.interval {
            self.entries[deviceCode]?.polledAt = now
            throw GrantRefusal(.slowDown, "the client polls too often")
        }
        self.entries[deviceCode]?.polledAt = now
        guard let approval = entry.approval else {
            throw GrantRefusal(.authorizationPending, "nobody has approved the user code yet")
        }
        self.entries[deviceCode] = nil
        return approval
    }

    /// Throws `expired_token`, or `invalid_grant` for a code that is unknown or used.
    package func requireUsable(_ deviceCode: String, at now: Moment) throws(GrantRefusal) {
        _ = try self.usable(deviceCode, at: now)
    }

    private func usable(_ deviceCode: String, at now: Moment) throws(GrantRefusal) -> Entry {
        guard let entry = self.entries[deviceCode] else {
            throw GrantRefusal(.invalidGrant, "the device code is unknown or used")
        }
        guard now.boot < entry.expiresAt.boot else {
            throw GrantRefusal(.expiredToken, "the device code has expired")
        }
        return entry
    }
}
