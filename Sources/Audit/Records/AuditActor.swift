/// Who made a change, as far as a process can tell.
package struct AuditActor: Equatable, Sendable {
    /// The way in which the change was asked for.
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
    /// The name of the admin token; `nil` for the name `admin`, which the ``kind`` says already.
    package let name: String?
    /// An address, a user ID or a signal.
    package let from: String?

    private init(_ kind: Kind, name: String? = nil, from: String?) {
        self.kind = kind
        self.name = name
        self.from = from
    }

    /// - Parameters:
    ///   - name: the name of the admin token.
    ///   - address: of the peer of the connection.
    package static func admin(_ name: String? = nil, at address: String?) -> AuditActor {
        AuditActor(.admin, name: name == Kind.admin.rawValue ? nil : name, from: address)
    }

    /// The actor that a ``memo`` describes.
    package static func admin(rememberedBy memo: String?) -> AuditActor {
        let (name, from) = Self.parts(ofMemo: memo)
        return .admin(name, at: from)
    }

    /// Name and origin in one text.
    package var memo: String? { Self.memo(self.name, from: self.from) }

    /// - Parameter name: contains no `@`; the names of administrators never do.
    static func memo(_ name: String?, from: String?) -> String? { name.map { "\($0)@\(from ?? "")" } ?? from }

    /// The parts of a ``memo``. The first `@` ends the name, which has letters, digits, dots, underscores and hyphens.
    static func parts(ofMemo memo: String?) -> (name: String?, from: String?) {
        guard let memo, let mark = memo.utf8.firstIndex(of: UInt8(ascii: "@")), mark > memo.startIndex,
            memo.utf8[..<mark].allSatisfy(Self.isNameByte)
        else { return (nil, memo) }
        let from = memo[memo.utf8.index(after: mark)...]
        return (String(memo[..<mark]), from.isEmpty ? nil : String(from))
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// - Parameter user: the numeric user ID.
    package static func command(user: UInt32) -> AuditActor { AuditActor(.command, from: "uid \(user)") }

    /// - Parameter cause: such as `SIGHUP`.
    package static func gateway(_ cause: String) -> AuditActor { AuditActor(.gateway, from: cause) }

    /// - Parameter address: of the peer of the connection.
    package static func stranger(at address: String?) -> AuditActor { AuditActor(.stranger, from: address) }
}
