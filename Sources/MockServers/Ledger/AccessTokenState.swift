/// Whether an access token of this provider opens the API.
package enum AccessTokenState: String, Sendable, Codable {
    case live
    case expired
    case revoked
}
