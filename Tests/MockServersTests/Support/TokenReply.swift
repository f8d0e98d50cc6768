/// The tokens in a response of the provider or of the control API.
struct TokenReply: Decodable, Equatable {
    let account: String?
    let accessToken: String
    let tokenType: String?
    let refreshToken: String?
    let expiresIn: Int
    let scope: String?
    let idToken: String?

    private enum CodingKeys: String, CodingKey {
        case account
        case accessToken = "access_token"
        case tokenType = "token_type"
        case refreshToken = "refresh_token"
        case expiresIn = "expires_in"
        case scope
        case idToken = "id_token"
    }
}
