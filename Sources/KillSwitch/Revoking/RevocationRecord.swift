package import OAuth
package import TokenModel
package import TokenStorage

/// A token that a kill has taken away, on its way to be revoked at its provider; afterwards, without the token, what came
/// of it.
package struct RevocationRecord: Equatable, Sendable {
    package enum Outcome: String, Sendable, CaseIterable {
        case waiting, revoked, refused, unsupported, unreachable

        init(_ verdict: RevocationVerdict) {
            switch verdict {
            case .revoked: self = .revoked
            case .refused: self = .refused
            case .unsupported: self = .unsupported
            case .unreachable: self = .unreachable
            }
        }

        /// Whether the provider is asked again.
        var isOpen: Bool { self == .waiting || self == .unreachable }
    }

    /// Of the kill that took it away.
    package let epoch: Epoch
    package let account: AccountID
    /// Whom it may be sent to; nobody else.
    package let binding: AccountRecord.Binding
    package let kind: RevocableToken
    /// `nil` once nothing is to be sent any more.
    package var token: Secret?
    /// When it ends by itself, where that is known.
    package let endsAt: WallTime?
    package let takenAt: WallTime
    package var outcome: Outcome
    /// How often the provider was asked, or was about to be.
    package var tries: Int
}

extension RevocationRecord {
    private static let format: UInt8 = 1

    /// The record as bytes to seal.
    package func encoded() -> Secret {
        let writer = FieldWriter(format: Self.format)
        writer.write(self.epoch.rawValue)
        writer.write(self.account.rawValue)
        writer.write(self.binding.provider.rawValue)
        writer.write(self.binding.tokenEndpointOrigin)
        writer.write(self.binding.clientID)
        writer.write(self.kind.rawValue)
        writer.write(self.token) { writer.write($0) }
        writer.write(self.endsAt) { writer.write($0.millisecondsSince1970) }
        writer.write(self.takenAt.millisecondsSince1970)
        writer.write(self.outcome.rawValue)
        writer.write(Int64(self.tries))
        return writer.finish()
    }

    /// Reads what ``encoded()`` wrote.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for any other bytes.
    package init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: Self.format...Self.format)
        self.epoch = Epoch(rawValue: try reader.read())
        self.account = AccountID(rawValue: try reader.read())
        self.binding = AccountRecord.Binding(
            provider: ProviderID(rawValue: try reader.read()),
            tokenEndpointOrigin: try reader.read(),
            clientID: try reader.read()
        )
        guard let kind = RevocableToken(rawValue: try reader.read()) else {
            throw FieldReader.malformed("an unknown kind of token")
        }
        self.kind = kind
        self.token = try reader.readOptional { reader throws(StoreError) in try reader.read() }
        self.endsAt = try reader.readOptional { reader throws(StoreError) in
            WallTime(millisecondsSince1970: try reader.read())
        }
        self.takenAt = WallTime(millisecondsSince1970: try reader.read())
        guard let outcome = Outcome(rawValue: try reader.read()) else {
            throw FieldReader.malformed("an unknown outcome")
        }
        self.outcome = outcome
        self.tries = Int(try reader.read(Int64.self))
        try reader.finish()
    }
}
