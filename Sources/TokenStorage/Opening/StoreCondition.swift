package import TokenModel

/// What the server of a store says about itself.
package struct StoreCondition: Equatable, Sendable {
    /// The server's wall clock, with which all replicas compare theirs.
    package let time: WallTime
    /// Whether each acknowledged write is on a second server too, so that a failover to that one loses none.
    package let isReplicated: Bool
    /// How many such servers are connected; `nil` if that can't be seen.
    package let connectedReplicas: Int?

    package init(time: WallTime, isReplicated: Bool, connectedReplicas: Int?) {
        self.time = time
        self.isReplicated = isReplicated
        self.connectedReplicas = connectedReplicas
    }
}
