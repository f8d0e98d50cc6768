/// How the provider treats the tokens it issues.
package struct TokenRules: Sendable {
    /// How long an access token lives; answers say it in whole seconds, rounded down.
    package var accessLifetime: Duration

    /// Each refresh token works once and its use yields the next one.
    package var rotates: Bool

    /// Each refresh kills the older access tokens of the same family, as GitHub does.
    package var rotationKillsAccess: Bool

    /// A second use of a rotated refresh token revokes the whole family (RFC 9700 section 4.14.2).
    package var detectsReuse: Bool

    /// For how long after its first use a rotated refresh token still yields a new pair; zero for never.
    package var grace: Duration

    package init(
        accessLifetime: Duration = .seconds(60),
        rotates: Bool = false,
        rotationKillsAccess: Bool = false,
        detectsReuse: Bool = false,
        grace: Duration = .zero
    ) {
        self.accessLifetime = accessLifetime
        self.rotates = rotates
        self.rotationKillsAccess = rotationKillsAccess
        self.detectsReuse = detectsReuse
        self.grace = grace
    }
}
