/// This process as one of the replicas that share a store.
package struct ReplicaSettings: Equatable, Sendable {
    /// For display only; `nil`: the host's name.
    package let name: String?
    /// How long tokens are put into requests without reading the kill log. A kill may have to wait this long.
    package let lease: Duration

    package init(name: String? = nil, lease: Duration = .seconds(10)) {
        self.name = name
        self.lease = lease
    }
}
