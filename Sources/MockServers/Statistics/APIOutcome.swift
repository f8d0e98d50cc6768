/// What the token of one API request was worth, for the count.
package enum APIOutcome: Equatable, Sendable {
    case ok(account: String)
    case noToken
    case unknown
    case expired
    case revoked
    case fault
}
