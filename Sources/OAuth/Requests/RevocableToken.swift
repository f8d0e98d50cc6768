/// Which of a grant's tokens is to be revoked; the raw values are those of `token_type_hint` (RFC 7009 §2.1).
package enum RevocableToken: String, CaseIterable, Sendable {
    case accessToken = "access_token"
    case refreshToken = "refresh_token"
}
