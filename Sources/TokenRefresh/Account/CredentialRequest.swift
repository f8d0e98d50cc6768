package import TokenModel

/// What a waiter waits for.
package enum CredentialRequest: Hashable, Sendable {
    /// A credential; `refused` is the generation that an upstream answered 401 to.
    case credential(refused: Generation?)
    /// That a refresh was tried. What is told of one that failed is its error, also beside a valid token.
    case refresh
}

/// Tells a waiter from the others at its desk.
package struct WaiterID: Hashable, Comparable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package static func < (left: WaiterID, right: WaiterID) -> Bool { left.rawValue < right.rawValue }
}
