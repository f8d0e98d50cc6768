package import TokenModel

/// The result of a revival.
package struct KillRevival: Equatable, Sendable {
    /// The number of the revival's own entry. Tokens that come from now on are stamped with it or a later one.
    package let epoch: Epoch
    /// The kills that the revival lifted, in log order.
    package let lifted: [Kill]

    package struct Kill: Equatable, Sendable {
        package let id: KillID
        package let epoch: Epoch
    }
}
