/// Where a fault rule strikes.
package enum FaultPoint: String, Sendable, Decodable {
    /// `POST /oauth/token`.
    case token

    /// `POST /oauth/revoke`.
    case revoke

    /// Everything below `/api/`.
    case api
}
