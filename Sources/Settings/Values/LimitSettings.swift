/// How much callers may ask for.
package struct LimitSettings: Equatable, Sendable {
    /// A request's head, in bytes.
    package let head: Int
    /// One field line, in bytes.
    package let field: Int
    package let fields: Int
    /// The request target, in bytes.
    package let target: Int
    /// Requests that may wait for refreshes at once.
    package let waiters: Int
}
