package import OAuth
package import TokenModel
package import TokenStorage

/// A token that a kill has taken away and that is to be revoked at its provider. Afterwards it keeps the outcome
/// without the token.
package struct RevocationRecord: Equatable, Sendable {
    package enum Outcome: String, Sendable, CaseIterable {
        case waiting, revoked, refused, unsupported, unreachable
        case clientRefused = "client_refused"

        init(_ verdict: RevocationVerdict) {
            switch verdict {
            case .revoked: self = .revoked
            case .refused: self = .refused
            case .clientRefused: self = .clientRefused
            case .unsupported: self = .unsupported
            case .unreachable: self = .unreachable
            }
        }

        /// Whether the provider is asked again.
        var isOpen: Bool { [.waiting, .unreachable, .clientRefused].contains(self) }
    }

    /// The epoch of the kill that took the token away.
    package let epoch: Epoch
    package let account: AccountID
    /// The only binding that the token may be sent to.
    package let binding: AccountRecord.Binding
    package let kind: RevocableToken
    /// `nil` once the token need not be sent any more.
    package var token: Secret?
    /// When the token expires, if known.
    package let endsAt: WallTime?
    package let takenAt: WallTime
    package var outcome: Outcome
    /// How often the provider was asked, counting a try in progress.
    package var tries: Int
    /// Present while a replica asks the provider. The other replicas do not ask meanwhile.
    package var claim: AccountRecord.Claim?
}

extension RevocationRecord {
    /// The tokens of `record`, as the kill numbered `epoch` takes them away at `now`.
    static func tokens(
        of record: AccountRecord,
        _ account: AccountID,
        killedBy epoch: Epoch,
        at now: WallTime
    ) -> [RevocationRecord] {
        guard let tokens = record.tokens else { return [] }
        func revocation(_ token: Secret?, _ kind: RevocableToken, endsAt: WallTime?) -> RevocationRecord? {
            token.map { token in
                RevocationRecord(
                    epoch: epoch,
                    account: account,
                    binding: record.binding,
                    kind: kind,
                    token: token,
                    endsAt: endsAt,
                    takenAt: now,
                    outcome: .waiting,
                    tries: 0
                )
            }
        }
        let refreshTokenEndsAt = tokens.refreshLifetime.map { tokens.receivedAt.advanced(by: $0) }
        return [
            revocation(tokens.refreshToken, .refreshToken, endsAt: refreshTokenEndsAt),
            revocation(tokens.accessToken, .accessToken, endsAt: tokens.expiresAt),
        ].compactMap { $0 }
    }
}

extension RevocationRecord: SealableRecord {
    /// Formats 1 and 2 hold only the origin of the issuer, 3 and 4 the whole issuer. 2 and 4 have a claim.
    private static let formats: ClosedRange<UInt8> = 1...4

    /// The record as bytes to seal.
    package func encoded() -> Secret {
        // A replica of an older version does not know formats 3 and 4. It must not read them: it would ask another
        // issuer of the same origin.
        let writer = FieldWriter(
            format: (self.binding.issuer.tokenVersion == nil ? 1 : 3) + (self.claim == nil ? 0 : 1)
        )
        writer.write(self.epoch.rawValue)
        writer.write(self.account.rawValue)
        writer.write(self.binding.provider.rawValue)
        writer.write(self.binding.issuer.tokenVersion ?? self.binding.issuer.origin)
        writer.write(self.binding.clientID)
        writer.write(self.kind.rawValue)
        writer.write(self.token) { writer.write($0) }
        writer.write(self.endsAt) { writer.write($0.millisecondsSince1970) }
        writer.write(self.takenAt.millisecondsSince1970)
        writer.write(self.outcome.rawValue)
        writer.write(Int64(self.tries))
        if let claim {
            writer.write(claim.incarnation.rawValue)
            writer.write(claim.id.rawValue)
            writer.write(claim.standsFor)
        }
        return writer.finish()
    }

    /// Reads what ``encoded()`` wrote.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for any other bytes.
    package init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: Self.formats)
        self.epoch = Epoch(rawValue: try reader.read())
        self.account = AccountID(rawValue: try reader.read())
        let provider = ProviderID(rawValue: try reader.read())
        let issuer = try reader.read(String.self)
        let marked = reader.format < 3 ? TokenIssuer.origin(issuer) : TokenIssuer(mark: issuer)
        guard let marked else { throw FieldReader.malformed("an unknown form of issuer") }
        self.binding = AccountRecord.Binding(provider: provider, issuer: marked, clientID: try reader.read())
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
        if reader.format.isMultiple(of: 2) {
            self.claim = AccountRecord.Claim(
                incarnation: IncarnationID(rawValue: try reader.read()),
                id: ClaimID(rawValue: try reader.read()),
                standsFor: try reader.read()
            )
        }
        try reader.finish()
    }
}
