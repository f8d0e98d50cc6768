package import TokenModel

/// The tokens that this provider has issued and their states. The type is pure: its callers pass in the time and the
/// token strings.
///
///     open ──▶ family ──▶ refresh token ──first use──▶ spent ──within grace──▶ yields a new pair
///                 │                                     └──────after it──────▶ refused; may revoke the family
///                 └─────▶ access token ──▶ expired (by time, or all at once) or revoked (alone or with its family)
package struct TokenLedger: Sendable {
    private let rules: TokenRules
    private var families: [TokenFamily] = []
    private var refreshTokens: [String: RefreshTokenEntry] = [:]
    private var accessTokens: [String: AccessTokenEntry] = [:]
    private var refreshTokensByAccount: [String: [String]] = [:]

    /// The number of families revoked by the second use of a refresh token.
    package private(set) var reuseDetections = 0

    package init(rules: TokenRules) {
        self.rules = rules
    }

    /// Starts a family for `account` and issues its first tokens.
    ///
    /// - Parameter refreshable: false for accounts that mint: they get only an access token (RFC 6749 section 4.4.3).
    /// - Returns: the tokens, and the number of the family for ``revokeFamily(_:at:)``.
    package mutating func open(
        account: String,
        scope: String?,
        refreshable: Bool,
        issuer: String,
        at now: Moment,
        mint: any TokenMint
    ) throws(GrantRefusal) -> (tokens: IssuedTokens, family: Int) {
        let accessToken = try mint.accessToken(for: self.claims(account, scope: scope, issuer: issuer, at: now))
        let family = self.families.count
        self.families.append(TokenFamily(account: account, scope: scope))
        self.refreshTokensByAccount[account, default: []] += []
        let refreshToken = refreshable ? mint.opaqueToken("mrt") : nil
        self.add(refreshToken: refreshToken, accessToken: accessToken, to: family, at: now)
        return (self.issued(account, accessToken, refreshToken, scope: scope), family)
    }

    /// Exchanges a refresh token for new tokens (RFC 6749 section 6).
    ///
    /// Throws `invalid_grant` for a token that is unknown, revoked, or spent with its grace period over. The last case
    /// also revokes the family if reuse is detected. Throws `invalid_scope` if the client asks for more than was
    /// granted; the refresh token then stays unspent.
    package mutating func refresh(
        _ token: String,
        scope: String?,
        issuer: String,
        at now: Moment,
        mint: any TokenMint
    ) throws(GrantRefusal) -> IssuedTokens {
        guard let entry = self.refreshTokens[token] else {
            throw GrantRefusal(.invalidGrant, "the refresh token is unknown")
        }
        let family = self.families[entry.family]
        guard family.revokedAt == nil else {
            throw GrantRefusal(.invalidGrant, "the refresh token is revoked")
        }
        if let spentAt = entry.spentAt, !self.isInGrace(spentAt: spentAt, now) {
            if self.rules.detectsReuse {
                self.reuseDetections += 1
                self.revokeFamily(entry.family, at: now)
            }
            throw GrantRefusal(.invalidGrant, "the refresh token was used before")
        }
        let granted = try Self.narrow(family.scope, to: scope)
        let accessToken = try mint.accessToken(
            for: self.claims(family.account, scope: granted, issuer: issuer, at: now)
        )
        let refreshToken = self.rules.rotates ? mint.opaqueToken("mrt") : nil
        if self.rules.rotates, entry.spentAt == nil {
            self.refreshTokens[token]?.spentAt = now
        }
        if self.rules.rotationKillsAccess {
            self.revokeAccessTokens(ofFamily: entry.family, at: now)
        }
        self.add(refreshToken: refreshToken, accessToken: accessToken, to: entry.family, at: now)
        return self.issued(family.account, accessToken, refreshToken, scope: granted)
    }

    /// Records that a token request carried `token`, before the request is evaluated.
    package mutating func notePresentation(of token: String) {
        self.refreshTokens[token]?.presentations += 1
    }

    /// Revokes `token` (RFC 7009 section 2.1). A refresh token is revoked with its whole family, an access token
    /// alone.
    ///
    /// - Returns: whether this provider ever issued it.
    package mutating func revoke(_ token: String, at now: Moment) -> Bool {
        if let entry = self.refreshTokens[token] {
            self.revokeFamily(entry.family, at: now)
            return true
        }
        guard let entry = self.accessTokens[token] else { return false }
        self.accessTokens[token]?.revokedAt = entry.revokedAt ?? now
        return true
    }

    /// Revokes everything that descends from one authorization. An unknown number is ignored.
    package mutating func revokeFamily(_ family: Int, at now: Moment) {
        guard self.families.indices.contains(family), self.families[family].revokedAt == nil else { return }
        self.families[family].revokedAt = now
    }

    /// Expires all access tokens that are still live.
    ///
    /// - Returns: the number of expired tokens.
    package mutating func expireAccessTokens(at now: Moment) -> Int {
        var count = 0
        for (token, entry) in self.accessTokens where self.state(of: entry, at: now) == .live {
            self.accessTokens[token]?.expiresAt = now
            count += 1
        }
        return count
    }
}

extension TokenLedger {
    /// The account of an access token and the token's state at `moment`. Nil for a token that was never issued.
    package func accessToken(_ token: String, at moment: Moment) -> (account: String, state: AccessTokenState)? {
        self.accessTokens[token].map { (self.families[$0.family].account, self.state(of: $0, at: moment)) }
    }

    /// The description of a live token of either kind. Nil for a dead or unknown token (RFC 7662 section 2.2).
    package func describe(_ token: String, at now: Moment) -> TokenDescription? {
        if let entry = self.accessTokens[token], self.state(of: entry, at: now) == .live {
            let family = self.families[entry.family]
            return TokenDescription(
                account: family.account,
                scope: family.scope,
                issuedAt: entry.issuedAt,
                expiresAt: entry.expiresAt
            )
        }
        guard let entry = self.refreshTokens[token], self.isLive(entry) else { return nil }
        let family = self.families[entry.family]
        return TokenDescription(
            account: family.account,
            scope: family.scope,
            issuedAt: entry.issuedAt,
            expiresAt: nil
        )
    }

    /// All tokens ever issued, dead or alive, whether or not a client received them.
    package var everyToken: [String] { Array(self.accessTokens.keys) + Array(self.refreshTokens.keys) }

    /// For each account, how often each of its refresh tokens was presented, in the order of issue. Tokens that were
    /// never presented are left out.
    package var presentations: [String: [Int]] {
        self.refreshTokensByAccount.mapValues { tokens in
            tokens.compactMap { self.refreshTokens[$0]?.presentations }.filter { $0 > 0 }
        }
    }

    /// For each account ever opened, the number of its live tokens.
    package func liveTokens(at now: Moment) -> [String: MockStats.LiveTokens] {
        var live = self.refreshTokensByAccount.mapValues { tokens in
            MockStats.LiveTokens(refresh: tokens.count { self.refreshTokens[$0].map(self.isLive) ?? false }, access: 0)
        }
        for entry in self.accessTokens.values where self.state(of: entry, at: now) == .live {
            live[self.families[entry.family].account]?.access += 1
        }
        return live
    }

    private func state(of entry: AccessTokenEntry, at moment: Moment) -> AccessTokenState {
        entry.state(at: moment, familyRevokedAt: self.families[entry.family].revokedAt)
    }

    private func isLive(_ entry: RefreshTokenEntry) -> Bool {
        entry.spentAt == nil && self.families[entry.family].revokedAt == nil
    }

    private func isInGrace(spentAt: Moment, _ now: Moment) -> Bool {
        self.rules.grace > .zero && spentAt.duration(to: now) <= self.rules.grace
    }

    private func claims(_ account: String, scope: String?, issuer: String, at now: Moment) -> AccessClaims {
        AccessClaims(
            issuer: issuer,
            account: account,
            scope: scope,
            issuedAt: now.wall,
            expiresAt: now.advanced(by: self.rules.accessLifetime).wall
        )
    }

    private func issued(
        _ account: String,
        _ accessToken: String,
        _ refreshToken: String?,
        scope: String?
    ) -> IssuedTokens {
        IssuedTokens(
            account: account,
            accessToken: accessToken,
            refreshToken: refreshToken,
            expiresIn: self.rules.accessLifetime.components.seconds,
            scope: scope
        )
    }

    private mutating func add(refreshToken: String?, accessToken: String, to family: Int, at now: Moment) {
        if self.rules.rotationKillsAccess {
            self.families[family].rotatingAccessTokens.append(accessToken)
        }
        self.accessTokens[accessToken] = AccessTokenEntry(
            family: family,
            issuedAt: now,
            expiresAt: now.advanced(by: self.rules.accessLifetime)
        )
        if let refreshToken {
            self.refreshTokens[refreshToken] = RefreshTokenEntry(family: family, issuedAt: now)
            self.refreshTokensByAccount[self.families[family].account, default: []].append(refreshToken)
        }
    }

    private mutating func revokeAccessTokens(ofFamily family: Int, at now: Moment) {
        for token in self.families[family].rotatingAccessTokens {
            let earlier = self.accessTokens[token]?.revokedAt
            self.accessTokens[token]?.revokedAt = earlier ?? now
        }
        self.families[family].rotatingAccessTokens = []
    }

    /// The granted part of `scope` if the client asks for `asked`. Nil on either side sets no limit.
    private static func narrow(_ scope: String?, to asked: String?) throws(GrantRefusal) -> String? {
        guard let asked else { return scope }
        guard let scope else { return asked }
        let granted = Set(scope.split(separator: " "))
        guard granted.isSuperset(of: asked.split(separator: " ")) else {
            throw GrantRefusal(.invalidScope, "the requested scope exceeds the granted scope")
        }
        return asked
    }
}
