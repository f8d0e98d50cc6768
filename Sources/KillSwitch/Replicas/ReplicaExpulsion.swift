package import TokenModel

/// What became of a replica that is to be forgotten.
package struct ReplicaExpulsion: Equatable, Sendable {
    package let id: ReplicaID
    package let name: String
    /// When its record goes; `nil` where it has gone already, since its process has ended for certain.
    package let until: WallTime?
}
