/// The user whose process has connected over a Unix socket, as the kernel tells it (unix(7), SO_PEERCRED): of the moment at
/// which it connected, whoever has the connection since.
package struct PeerIdentity: Equatable, Sendable {
    package let user: UInt32
    /// The process's own group; of its further ones the kernel does not tell.
    package let group: UInt32

    package init(user: UInt32, group: UInt32) {
        self.user = user
        self.group = group
    }
}

/// Whom a caller is taken for by ``PeerIdentity``: a user, a group, or a user of that group.
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
