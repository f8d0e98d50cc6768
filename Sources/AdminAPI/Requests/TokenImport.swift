internal import OAuth
internal import TokenModel

/// The tokens that an operator imports for an account.
struct TokenImport: Equatable, Sendable {
    let refreshToken: Secret
    /// If `nil`, the first use refreshes.
    let accessToken: Secret?
    /// How long the access token is valid from now on; `nil` for the account's default.
    let expiresIn: Duration?
    /// The granted scopes; empty if the import does not name them.
    let scopes: [String]

    private static let fields = ["refresh_token", "access_token", "expires_in", "scope"]

    /// Reads the body of an import.
    init(_ body: [UInt8]) throws(AdminError) { try self.init(try JSONFields(body)) }

    /// Reads the members of an import. Tokens must fit into a header field: printable ASCII without spaces.
    ///
    /// - Parameter isResponse: whether these may be a provider's whole token response, of which the other members are left
    ///   out.
    init(_ fields: JSONFields, isResponse: Bool = false) throws(AdminError) {
        var fields = fields
        self.refreshToken = try fields.secret("refresh_token")
        self.accessToken = try fields.secretIfPresent("access_token")
        self.expiresIn = try fields.countIfPresent("expires_in").map { .seconds($0) }
        self.scopes = ScopeWord.words(of: try fields.textIfPresent("scope") ?? "")
        if !isResponse { try fields.finish(expected: Self.fields) }
        try Self.check(self.refreshToken, "refresh_token")
        if let accessToken = self.accessToken { try Self.check(accessToken, "access_token") }
    }

    private static func check(_ token: Secret, _ name: String) throws(AdminError) {
        guard TokenText.isToken(token) else {
            throw .invalidField(
                name,
                "\(name) is no token: 1 to \(TokenText.longest) printable ASCII characters without a space"
            )
        }
    }
}
