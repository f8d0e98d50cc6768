package import JSONText

/// An answer that says that a token is dead, besides the 401 that does.
package struct RetrySign: Hashable, Sendable {
    package let status: Int
    /// What its body must hold; `nil`: nothing.
    package let json: JSONPattern?
}
