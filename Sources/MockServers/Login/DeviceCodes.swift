package import TokenModel

/// The device codes in use (RFC 8628). A person approves the user code, then the client's next poll gets tokens.
package struct DeviceCodes: Sendable {
    /// How long a code can be approved and redeemed.
    package static let lifetime: Duration = .seconds(600)

    /// The minimum time between two polls.
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
        let expiresAt: Moment
        var isApproved = false
        var polledAt: Moment?
    }

    private var entries: [String: Entry] = [:]

    package init() {}

    /// Registers a device code and its user code.
    package mutating func start(_ request: Request, deviceCode: String, userCode: String, at now: Moment) {
        self.entries[deviceCode] = Entry(
            request: request,
            userCode: userCode,
            expiresAt: now.advanced(by: Self.lifetime)
        )
    }

    /// Records that a person approved `userCode`.
    ///
    /// - Returns: whether such a code exists and has not expired.
    package mutating func approve(userCode: String, at now: Moment) -> Bool {
        guard
            let match = self.entries.first(where: {
                $0.value.userCode == userCode && now.boot < $0.value.expiresAt.boot
            })
        else {
            return false
        }
        self.entries[match.key]?.isApproved = true
        return true
    }

    /// Checks whether the code's person has approved it. A code that yields its request is used up.
    ///
    /// Throws `authorization_pending`, `slow_down` for polls closer than ``interval``, `expired_token`, or
    /// `invalid_grant` for a code that is unknown or used (RFC 8628 section 3.5).
    package mutating func poll(_ deviceCode: String, at now: Moment) throws(GrantRefusal) -> Request {
        guard let entry = self.entries[deviceCode] else {
            throw GrantRefusal(.invalidGrant, "the device code is unknown or used")
        }
        guard now.boot < entry.expiresAt.boot else {
            throw GrantRefusal(.expiredToken, "the device code has expired")
        }
        if let polledAt = entry.polledAt, polledAt.duration(to: now) < Self.interval {
            self.entries[deviceCode]?.polledAt = now
            throw GrantRefusal(.slowDown, "the client polls too often")
        }
        self.entries[deviceCode]?.polledAt = now
        guard entry.isApproved else {
            throw GrantRefusal(.authorizationPending, "nobody has approved the user code yet")
        }
        self.entries[deviceCode] = nil
        return entry.request
    }
}
