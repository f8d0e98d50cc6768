internal import Crypto
package import TokenModel

extension AccountRecord: SealableRecord {
    /// The newest layout. Layout 1 has no killed tokens. Layout 2 has no issuer, former providers or accepted proof.
    /// Layout 3 has no ``AccountRecord/observedEntry``. Layout 4 has no subject. Layout 5 has no imported tokens
    /// and no ``AccountRecord/isRemoved``.
    private static let format: UInt8 = 6

    /// The oldest layout that can hold this record, because replicas that are not yet upgraded read it too.
    private var leastFormat: UInt8 {
        if !self.imported.isEmpty || self.isRemoved { return 6 }
        if self.subject != nil { return 5 }
        if self.observedEntry != nil { return 4 }
        if !self.formerProviders.isEmpty || self.acceptedProof != nil || self.binding.issuer.tokenVersion != nil {
            return 3
        }
        return self.killed.isEmpty ? 1 : 2
    }

    /// The bytes to seal.
    package func encoded() -> Secret {
        let format = self.leastFormat
        let writer = FieldWriter(format: format)
        writer.write(self.grant.rawValue)
        writer.write(self.generation.rawValue)
        writer.write(self.tokens) { $0.write(to: writer) }
        writer.write(self.observedEpoch.rawValue)
        writer.write(self.binding.provider.rawValue)
        writer.write(self.binding.issuer.origin)
        writer.write(self.binding.clientID)
        writer.write(self.claim) { claim in
            writer.write(claim.incarnation.rawValue)
            writer.write(claim.id.rawValue)
            writer.write(claim.standsFor)
        }
        writer.write(self.failureRecord) { failureRecord in
            writer.write(Int64(failureRecord.tries))
            writer.write(failureRecord.spent == .maybe)
            writer.write(failureRecord.retryIn)
            writer.write(failureRecord.dead)
            writer.write(failureRecord.reason)
        }
        writer.write(self.refreshedAt) { writer.write($0.millisecondsSince1970) }
        if format >= 2 { writer.write(self.killed) { writer.write($0.rawValue) } }
        if format >= 3 {
            // The issuer is stored as a mark at the head of this list. A replica that is not yet upgraded reads the
            // list too: it uses the origin and keeps the entries of the list. No provider name looks like a mark.
            let mark = self.binding.issuer.tokenVersion.map { [ProviderID($0)] } ?? []
            writer.write(mark + self.formerProviders) { writer.write($0.rawValue) }
            writer.write(self.acceptedProof) { writer.write($0.rawValue) }
        }
        if format >= 4 { writer.write(self.observedEntry) { writer.write($0.rawValue) } }
        if format >= 5 { writer.write(self.subject) { writer.write($0.rawValue) } }
        if format >= 6 {
            writer.write(self.imported) { writer.write($0.rawValue) }
            writer.write(self.isRemoved)
        }
        return writer.finish()
    }

    /// Reads what ``encoded()`` wrote.
    ///
    /// - Throws: ``StoreError/Code/unreadable`` for any other bytes.
    package init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: 1...Self.format)
        let grant = GrantID(rawValue: try reader.read())
        let generation = Generation(rawValue: try reader.read())
        let tokens = try reader.readOptional { reader throws(StoreError) in try TokenSet(from: &reader) }
        let observedEpoch = Epoch(rawValue: try reader.read())
        let provider = ProviderID(rawValue: try reader.read())
        let origin = try reader.read(String.self)
        let clientID = try reader.read(String.self)
        let claim = try reader.readOptional { reader throws(StoreError) in
            Claim(
                incarnation: IncarnationID(rawValue: try reader.read()),
                id: ClaimID(rawValue: try reader.read()),
                standsFor: try reader.read()
            )
        }
        let failureRecord = try reader.readOptional { reader throws(StoreError) in
            FailureRecord(
                tries: Int(try reader.read(Int64.self)),
                spent: try reader.read() ? .maybe : .no,
                retryIn: try reader.read(),
                dead: try reader.read(),
                reason: try reader.read()
            )
        }
        let refreshedAt = try reader.readOptional { reader throws(StoreError) in
            WallTime(millisecondsSince1970: try reader.read())
        }
        let killed =
            reader.format < 2
            ? [] : try reader.readArray { reader throws(StoreError) in TokenDigest(rawValue: try reader.read()) }
        var formerProviders =
            reader.format < 3
            ? [] : try reader.readArray { reader throws(StoreError) in ProviderID(rawValue: try reader.read()) }
        let acceptedProof =
            reader.format < 3
            ? nil : try reader.readOptional { reader throws(StoreError) in TokenDigest(rawValue: try reader.read()) }
        let observedEntry =
            reader.format < 4
            ? nil : try reader.readOptional { reader throws(StoreError) in KillID(rawValue: try reader.read()) }
        let subject =
            reader.format < 5
            ? nil : try reader.readOptional { reader throws(StoreError) in TokenDigest(rawValue: try reader.read()) }
        let imported =
            reader.format < 6
            ? [] : try reader.readArray { reader throws(StoreError) in TokenDigest(rawValue: try reader.read()) }
        let isRemoved = reader.format < 6 ? false : try reader.read(Bool.self)
        try reader.finish()
        var issuer = formerProviders.first.flatMap { TokenIssuer(mark: $0.rawValue) }
        // A replica that knows only origins may have bound the record to another origin since.
        if issuer?.origin != origin { issuer = nil }
        if issuer != nil { formerProviders.removeFirst() }
        self.init(
            grant: grant,
            generation: generation,
            tokens: tokens,
            observedEpoch: observedEpoch,
            observedEntry: observedEntry,
            binding: Binding(provider: provider, issuer: issuer ?? .origin(origin), clientID: clientID),
            claim: claim,
            failureRecord: failureRecord,
            refreshedAt: refreshedAt,
            killed: killed,
            formerProviders: formerProviders,
            acceptedProof: acceptedProof,
            subject: subject,
            imported: imported,
            isRemoved: isRemoved
        )
    }
}

extension TokenSet {
    fileprivate func write(to writer: FieldWriter) {
        writer.write(self.accessToken) { writer.write($0) }
        writer.write(self.refreshToken) { writer.write($0) }
        writer.write(self.receivedAt.millisecondsSince1970)
        writer.write(self.lifetime)
        writer.write(self.refreshLifetime) { writer.write($0) }
        writer.write(self.scopes) { writer.write($0) }
    }

    fileprivate init(from reader: inout FieldReader) throws(StoreError) {
        self.init(
            accessToken: try reader.readOptional { reader throws(StoreError) in try reader.read() },
            refreshToken: try reader.readOptional { reader throws(StoreError) in try reader.read() },
            receivedAt: WallTime(millisecondsSince1970: try reader.read()),
            lifetime: try reader.read(),
            refreshLifetime: try reader.readOptional { reader throws(StoreError) in try reader.read() },
            scopes: try reader.readArray { reader throws(StoreError) in try reader.read() }
        )
    }
}

/// The issuer encoded as one text.
extension TokenIssuer {
    /// The mark of the issuer in a list of provider names; `nil` if the origin is all that is known.
    package var tokenVersion: String? {
        switch self {
        case .issuer(let issuer, let endpoint?): "by \(issuer) at \(endpoint)"
        case .issuer(let issuer, nil): "by \(issuer)"
        case .tokenEndpoint(let endpoint): "at \(endpoint)"
        case .origin: nil
        }
    }

    /// Reads a mark; `nil` for any other text.
    package init?(mark: String) {
        let words = mark.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        switch (words[0], words.count) {
        case ("by", 4) where words[2] == "at": self = .issuer(words[1], tokenEndpoint: words[3])
        case ("by", 2): self = .issuer(words[1], tokenEndpoint: nil)
        case ("at", 2): self = .tokenEndpoint(words[1])
        default: return nil
        }
    }
}

/// The SHA-256 of a token or of another text, by which it is recognized. It is stored only in sealed records.
package struct TokenDigest: Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package init(of token: Secret) {
        let digest = token.withUnredacted { span in
            unsafe span.withUnsafeBytes { bytes in unsafe SHA256.hash(data: bytes) }
        }
        self.rawValue = digest.hexadecimal
    }

    /// The digest of who signed in: a subject, which is unique at its issuer only (OpenID Connect Core §2).
    package init(ofSubject subject: String, at issuer: String) {
        self.init(of: Secret("\(issuer)\0\(subject)"))
    }
}

extension StoreID {
    /// The name of a token in record keys, which are not sealed: its HMAC-SHA256 under the store's id.
    ///
    /// A token has too many possible values to be guessed, so the name reveals nothing about it. The same token has
    /// another name in another store. The name depends on no sealing key, so a token has the same name before and after
    /// a change of keys.
    package func name(of token: Secret) -> String {
        let key = SymmetricKey(data: Array("martlet token name\0\(self.rawValue)".utf8))
        let code = token.withUnredacted { span in
            unsafe span.withUnsafeBytes { bytes in unsafe HMAC<SHA256>.authenticationCode(for: bytes, using: key) }
        }
        return code.hexadecimal
    }
}

extension Sequence<UInt8> {
    fileprivate var hexadecimal: String { self.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}

extension AccountRecord {
    /// The most killed tokens that are remembered per account.
    private static let mostKilled = 16

    /// The most imported tokens that are remembered per account.
    private static let mostImported = 8

    /// Whether `token` was imported for this account before.
    package func hasImported(_ token: Secret) -> Bool { self.imported.contains(TokenDigest(of: token)) }

    /// Remembers a refresh token that was imported.
    package mutating func rememberImport(of token: Secret) { self.rememberImports([TokenDigest(of: token)]) }

    /// Remembers imported tokens, the last of them as the latest.
    package mutating func rememberImports(_ digests: [TokenDigest]) {
        self.imported = self.imported.filter { !digests.contains($0) } + digests
        self.imported.removeFirst(max(0, self.imported.count - Self.mostImported))
    }

    /// Whether `token` is remembered as killed.
    package func hasKilled(_ token: Secret) -> Bool { self.killed.contains(TokenDigest(of: token)) }

    /// Remembers the record's tokens as killed.
    package mutating func rememberKilled() {
        for token in [self.tokens?.refreshToken, self.tokens?.accessToken].compactMap({ $0 }) {
            let digest = TokenDigest(of: token)
            self.killed.removeAll { $0 == digest }
            self.killed.append(digest)
        }
        self.killed.removeFirst(max(0, self.killed.count - Self.mostKilled))
    }

    /// Adds the killed tokens that `other` remembers, the record that this one replaces.
    package mutating func rememberKilled(of other: AccountRecord) {
        self.killed = self.killed.filter { !other.killed.contains($0) } + other.killed
        self.killed.removeFirst(max(0, self.killed.count - Self.mostKilled))
    }
}
