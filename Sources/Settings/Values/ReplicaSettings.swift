/// This process among those that share a store.
package struct ReplicaSettings: Equatable, Sendable {
    /// Only shown; `nil`: the host's name.
    package let name: String?
    /// How long tokens are put into requests without having read the kill log; so long a kill may have to wait.
    package let lease: Duration

    package init(name: String? = nil, lease: Duration = .seconds(10)) {
        self.name = name
        self.lease = lease
    }
}
