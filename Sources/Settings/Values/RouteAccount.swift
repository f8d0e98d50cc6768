package import TokenModel

/// Whose token a route's requests get.
package enum RouteAccount: Equatable, Sendable {
    case fixed(AccountID)
    /// Of the account that the request names in ``headerName``, which its caller must be let use.
    case fromHeader

    /// The only field for it: as with all of that prefix, no request takes it upstream.
    package static let headerName = "Martlet-Account"
}
