internal import Crypto
internal import TextCoding
package import TokenModel

/// The authorization codes in use. Each works once, for a minute, for the request it was issued to.
package struct AuthorizationCodes: Sendable {
    /// The result of redeeming a code.
    package enum Redemption: Equatable, Sendable {
        case approved(ApprovedSignIn)

        /// The code was redeemed before. The tokens issued then must be revoked (RFC 6749 section 4.1.2).
        case replayed(family: Int)
    }

    private struct Entry {
        let request: AuthorizationRequest
        let approvedAt: Moment
        let expiresAt: Moment
        var family: Int?
    }

    private var entries: [String: Entry] = [:]

    package init() {}

    /// Registers `code` for `request`.
    package mutating func issue(_ code: String, for request: AuthorizationRequest, at now: Moment) {
        self.entries[code] = Entry(request: request, approvedAt: now, expiresAt: now.advanced(by: .seconds(60)))
    }

    /// Checks a code. The caller must close a good code with ``close(_:family:)`` once its tokens are issued.
    ///
    /// Throws `invalid_grant` if the code is unknown or too old, if the redirect URI differs, or if `verifier` does
    /// not fit the challenge. A verifier without a challenge is refused too, because it indicates a downgrade attack
    /// (RFC 9700 section 4.8.2).
    package func redeem(
        _ code: String,
        redirectURI: String?,
        verifier: String?,
        at now: Moment
    ) throws(GrantRefusal) -> Redemption {
        guard let entry = self.entries[code] else {
            throw GrantRefusal(.invalidGrant, "the code is unknown")
        }
        if let family = entry.family {
            return .replayed(family: family)
        }
        guard now.boot < entry.expiresAt.boot else {
            throw GrantRefusal(.invalidGrant, "the code has expired")
        }
        guard redirectURI == entry.request.redirectURI else {
            throw GrantRefusal(.invalidGrant, "the redirect_uri is not the one the code was issued for")
        }
        guard verifier.map(Self.challenge(of:)) == entry.request.challenge else {
            throw GrantRefusal(.invalidGrant, "the code_verifier does not fit the code_challenge")
        }
        return .approved(
            ApprovedSignIn(
                account: entry.request.account,
                scope: entry.request.scope,
                nonce: entry.request.nonce,
                at: entry.approvedAt
            )
        )
    }

    /// Marks a code as redeemed.
    package mutating func close(_ code: String, family: Int) {
        self.entries[code]?.family = family
    }

    /// The S256 challenge of a verifier (RFC 7636 section 4.2).
    package static func challenge(of verifier: String) -> String {
        Base64.urlSafeText(SHA256.hash(data: Array(verifier.utf8)))
    }
}

/// What a person approved in the browser, kept until the client redeems the code.
package struct AuthorizationRequest: Equatable, Sendable {
    package let account: String
    package let scope: String?

    /// The client must send the same URI again with the code, equal byte for byte (RFC 6749 section 4.1.3).
    package let redirectURI: String

    /// The S256 challenge (RFC 7636 section 4.2), if the request had one.
    package let challenge: String?

    /// Repeated in the ID token (OpenID Connect Core section 3.1.2.1).
    package let nonce: String?

    package init(
        account: String,
        scope: String?,
        redirectURI: String,
        challenge: String?,
        nonce: String? = nil
    ) {
        self.account = account
        self.scope = scope
        self.redirectURI = redirectURI
        self.challenge = challenge
        self.nonce = nonce
    }
}

/// A person's approval, in the browser or of a device, from which the client gets its tokens.
package struct ApprovedSignIn: Equatable, Sendable {
    package let account: String
    package let scope: String?

    /// Nil if the client sent none. Devices send none.
    package let nonce: String?

    /// When the person approved, the `auth_time` of the ID token.
    package let at: Moment

    package init(account: String, scope: String?, nonce: String? = nil, at: Moment) {
        self.account = account
        self.scope = scope
        self.nonce = nonce
        self.at = at
    }
}
