internal import Glibc
internal import Listening

/// Who was let in by the admin door: whose name stands in the audit log, and what they may do.
package struct Administrator: Hashable, Sendable {
    /// 1 to 64 ASCII letters, digits, dots, underscores and hyphens.
    package let name: String
    package let role: AdministratorRole

    package init(name: String, role: AdministratorRole) {
        self.name = name
        self.role = role
    }

    /// Who presents a token without a name, or needs none.
    package static let unnamed = Administrator(name: "admin", role: .operator)

    /// Whether records can tell them from ``unnamed``, or they may do the same.
    package var isToldApart: Bool { self.name != Self.unnamed.name || self.role == Self.unnamed.role }
}

/// What an administrator may do.
package enum AdministratorRole: String, Sendable, CaseIterable {
    /// Everything.
    case `operator`
    /// Reads, and kills; what is killed an operator has to revive.
    case killer
    /// Reads.
    case viewer
}

/// What somebody needs a role for.
enum AdminDeed: Sendable {
    case reading, killing
    /// All else.
    case changing
}

extension AdministratorRole {
    func permits(_ deed: AdminDeed) -> Bool {
        switch (self, deed) {
        case (.operator, _), (_, .reading), (.killer, .killing): true
        case (.killer, .changing), (.viewer, .killing), (.viewer, .changing): false
        }
    }
}

extension Administrator {
    /// Whose process is at the other end of the admin socket, where that needs no token: the gateway's own user can read its
    /// tokens and memory anyhow, and so can root.
    ///
    /// - Parameter user: the gateway's.
    init?(_ peer: PeerIdentity?, of user: UInt32 = geteuid()) {
        guard let peer, peer.user == user || peer.user == 0 else { return nil }
        // Records say where from, with the user's number.
        self = .unnamed
    }
}
