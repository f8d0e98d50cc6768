package import TokenModel

/// What the kill switch asks of a token that a request carries, besides its slot: two numbers, which cost nothing to copy.
package struct TokenOrigin: Equatable, Sendable {
    /// The kill epoch that the token's writer had read.
    package let stamp: Epoch
    /// Whose token it is, and was before: a place in the slot's list.
    let owner: Int
}
