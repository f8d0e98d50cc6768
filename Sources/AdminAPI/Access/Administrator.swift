internal import Glibc
internal import SystemSupport

/// An authenticated administrator, with the name for the audit log and the role.
package struct Administrator: Hashable, Sendable {
    /// 1 to 64 ASCII letters, digits, dots, underscores and hyphens.
    package let name: String
    package let role: AdministratorRole

    package init(name: String, role: AdministratorRole) {
        self.name = name
        self.role = role
    }

    /// The administrator of a token without a name, or of a peer that needs no token.
    package static let unnamed = Administrator(name: "admin", role: .operator)

    /// Whether records can tell this administrator from ``unnamed``, or both have the same role.
    package var isToldApart: Bool { self.name != Self.unnamed.name || self.role == Self.unnamed.role }
}

extension Administrator {
    /// The administrator for a peer of the admin socket who needs no token: the gateway's own user, or root. Both can
    /// read the gateway's tokens and memory anyway.
    ///
    /// - Parameter user: the gateway's user.
    init?(_ peer: PeerIdentity?, of user: UInt32 = geteuid()) {
        guard let peer, peer.user == user || peer.user == 0 else { return nil }
        // Records have the peer's user number as the origin.
        self = .unnamed
    }
}
