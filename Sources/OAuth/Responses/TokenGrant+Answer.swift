internal import TokenModel

/// Why an answer that says yes is of no use.
struct GrantFault: Error {
    let reason: VerdictReason
    /// The refresh token that came along all the same.
    var rotated: RotatedToken?
}

extension TokenGrant {
    /// Takes the tokens out of the members of a successful answer (RFC 6749 §5.1).
    init(_ fields: [String: ResponseValue], rules: ResponseRules, now: WallTime) throws(GrantFault) {
        guard Self.isBearer(fields["token_type"], rules) else { throw Self.fault(.tokenTypeUnknown, fields) }
        guard case .string(let accessToken) = fields["access_token"], Self.fitsHeader(accessToken) else {
            throw Self.fault(.accessTokenUnusable, fields)
        }
        self.init(
            accessToken: accessToken,
            refreshToken: try Self.refreshToken(fields["refresh_token"]),
            lifetime: TokenLifetime.ofAccessToken(accessToken, expiresIn: fields["expires_in"], now: now)
                ?? rules.defaultLifetime,
            refreshLifetime: TokenLifetime.ofRefreshToken(fields),
            scopes: Self.scopes(fields["scope"])
        )
    }

    private static func fault(_ reason: VerdictReason, _ fields: [String: ResponseValue]) -> GrantFault {
        let refreshToken = try? Self.refreshToken(fields["refresh_token"])
        return GrantFault(
            reason: reason,
            rotated: refreshToken.map {
                RotatedToken(refreshToken: $0, refreshLifetime: TokenLifetime.ofRefreshToken(fields))
            }
        )
    }

    private static func isBearer(_ type: ResponseValue?, _ rules: ResponseRules) -> Bool {
        guard let type, type != .null else { return true }
        return type.asText.map { rules.bearerTokenTypes.contains($0.lowercased()) } ?? false
    }

    /// Printable ASCII without a space: can neither end a header field nor begin another.
    private static func fitsHeader(_ token: Secret) -> Bool {
        !token.isEmpty
            && token.withUnredacted { token in token.indices.allSatisfy { (0x21...0x7E).contains(token[$0]) } }
    }

    /// An absent, null or empty one means: keep the old. One with control characters would not come back as it was sent.
    private static func refreshToken(_ value: ResponseValue?) throws(GrantFault) -> Secret? {
        switch value {
        case nil, .null:
            return nil
        case .string(let token):
            let isClean = token.withUnredacted { token in
                token.indices.allSatisfy { token[$0] >= 0x20 && token[$0] != 0x7F }
            }
            guard isClean else { throw GrantFault(reason: .answerUnreadable) }
            return token.isEmpty ? nil : token
        case .number, .boolean, .nested:
            throw GrantFault(reason: .answerUnreadable)
        }
    }

    /// The words of `scope` (RFC 6749 §3.3); anything that is no scope word is left out.
    private static func scopes(_ value: ResponseValue?) -> [String] {
        ScopeWord.words(of: value?.asText ?? "")
    }
}
