/// Whom a caller over a Unix socket is taken for by the user and group of its process; at least one is there.
package struct PeerSettings: Hashable, Sendable {
    package let user: UInt32?
    package let group: UInt32?
}
