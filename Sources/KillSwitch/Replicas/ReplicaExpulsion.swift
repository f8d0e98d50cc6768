package import TokenModel

/// The result of forgetting a replica.
package struct ReplicaExpulsion: Equatable, Sendable {
    package let id: ReplicaID
    package let name: String
    /// When its record is removed; `nil` where it is removed already, because its process has ended for certain.
    package let until: WallTime?
}
