extension MockStats {
    /// Token requests by outcome. A request that was refused for any reason but its client counts as `invalid_grant`.
    package struct TokenRequests: Codable, Equatable, Sendable {
        package var ok: Int
        package var invalidGrant: Int
        package var invalidClient: Int
        package var fault: Int

        package init(ok: Int = 0, invalidGrant: Int = 0, invalidClient: Int = 0, fault: Int = 0) {
            self.ok = ok
            self.invalidGrant = invalidGrant
            self.invalidClient = invalidClient
            self.fault = fault
        }

        private enum CodingKeys: String, CodingKey {
            case ok
            case invalidGrant = "invalid_grant"
            case invalidClient = "invalid_client"
            case fault
        }
    }

    /// The most token requests that were ever under way at once.
    package struct AtOnce: Codable, Equatable, Sendable {
        package var any: Int
        package var perRefreshToken: Int

        package init(any: Int = 0, perRefreshToken: Int = 0) {
            self.any = any
            self.perRefreshToken = perRefreshToken
        }

        private enum CodingKeys: String, CodingKey {
            case any
            case perRefreshToken = "per_refresh_token"
        }
    }

    /// Revocation requests by outcome. One that names no token of this provider, or comes from a wrong client, is `unknown`.
    package struct Revocations: Codable, Equatable, Sendable {
        package var ok: Int
        package var unknown: Int
        package var fault: Int

        package init(ok: Int = 0, unknown: Int = 0, fault: Int = 0) {
            self.ok = ok
            self.unknown = unknown
            self.fault = fault
        }
    }

    /// API requests by what became of their token.
    package struct APIRequests: Codable, Equatable, Sendable {
        package var ok: Int
        package var noToken: Int
        package var unknown: Int
        package var expired: Int
        package var revoked: Int
        package var fault: Int

        package init(
            ok: Int = 0,
            noToken: Int = 0,
            unknown: Int = 0,
            expired: Int = 0,
            revoked: Int = 0,
            fault: Int = 0
        ) {
            self.ok = ok
            self.noToken = noToken
            self.unknown = unknown
            self.expired = expired
            self.revoked = revoked
            self.fault = fault
        }

        private enum CodingKeys: String, CodingKey {
            case ok
            case noToken = "no_token"
            case unknown
            case expired
            case revoked
            case fault
        }
    }
}
