package import TokenModel

/// What a revival has done.
package struct KillRevival: Equatable, Sendable {
    /// The number of its own entry: tokens that come from now on are stamped with it or a later one.
    package let epoch: Epoch
    /// The kills that it lifted, in their order.
    package let lifted: [Kill]

    package struct Kill: Equatable, Sendable {
        package let id: KillID
        package let epoch: Epoch
    }
}
