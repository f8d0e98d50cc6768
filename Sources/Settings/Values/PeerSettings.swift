/// Whom a caller over a Unix socket is taken for by the user and group of its process; at least one is there.
package struct PeerSettings: Hashable, Sendable {
    package let user: UInt32?
    package let group: UInt32?

    /// Whoever is meant by `other` is meant by this too.
    func covers(_ other: PeerSettings) -> Bool {
        (self.user == nil || self.user == other.user) && (self.group == nil || self.group == other.group)
    }
}
