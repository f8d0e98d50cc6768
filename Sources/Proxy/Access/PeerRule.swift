import Listening

/// Whom a caller is taken for by its `PeerIdentity`: a user, a group, or a user of that group.
package struct PeerRule: Hashable, Sendable {
    package var user: UInt32?
    package var group: UInt32?

    package init(user: UInt32? = nil, group: UInt32? = nil) {
        self.user = user
        self.group = group
    }

    /// A rule that asks for nothing lets nobody in.
    func covers(_ peer: PeerIdentity) -> Bool {
        guard self.user != nil || self.group != nil else { return false }
        return (self.user ?? peer.user) == peer.user && (self.group ?? peer.group) == peer.group
    }
}
