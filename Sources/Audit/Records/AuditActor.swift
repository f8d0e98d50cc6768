/// Who did it, as far as a process can tell.
package struct AuditActor: Equatable, Sendable {
    /// How they came.
    package enum Kind: String, Sendable {
        /// Over the admin API, with a valid token.
        case admin
        /// By a command that works on the store itself.
        case command
        /// By a signal to a gateway, or by how it was started.
        case gateway
        /// Over the admin API, with no valid token.
        case stranger
    }

    package let kind: Kind
    /// An address, a user's number, a signal.
    package let from: String?

    private init(_ kind: Kind, from: String?) {
        self.kind = kind
        self.from = from
    }

    /// - Parameter address: of the other end of the connection.
    package static func admin(at address: String?) -> AuditActor { AuditActor(.admin, from: address) }

    /// - Parameter user: as the system numbers them.
    package static func command(user: UInt32) -> AuditActor { AuditActor(.command, from: "uid \(user)") }

    /// - Parameter cause: such as `SIGHUP`.
    package static func gateway(_ cause: String) -> AuditActor { AuditActor(.gateway, from: cause) }

    /// - Parameter address: of the other end of the connection.
    package static func stranger(at address: String?) -> AuditActor { AuditActor(.stranger, from: address) }
}
