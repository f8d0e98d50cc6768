package import TokenModel

/// What a waiter waits for.
package enum CredentialRequest: Hashable, Sendable {
    /// A credential. `refused` is the generation that an upstream responded 401 to.
    case credential(refused: Generation?)
    /// A refresh. If it fails, the waiter gets its error, even if there is a valid token.
    case refresh
}

/// Identifies a waiter among those of its account.
package struct WaiterID: Hashable, Comparable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package static func < (left: WaiterID, right: WaiterID) -> Bool { left.rawValue < right.rawValue }
}
