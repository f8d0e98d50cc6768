package import TokenModel
package import TokenStorage

/// How the answer of a provider comes back. The raw values are those of `way` in the admin API.
package enum SignInWay: String, Sendable, CaseIterable {
    /// To a port that the command listens on, on the operator's machine (RFC 8252 §7.3).
    case loopback
    /// By hand: the operator pastes the address that the browser was sent to.
    case paste
    /// To the gateway's own listener for sign-ins.
    case gateway
    /// Not at all: the gateway asks for it (RFC 8628).
    case device
}

/// The last sign-in of an account: one that waits for its answer, or how it ended.
///
/// It is sealed in the store, so any replica can take the answer. A write that expects the version of the waiting record
/// takes it, so it is taken once. Other modules see only its bytes.
package struct SignInRecord: Equatable, Sendable {
    /// What was decided when the sign-in began.
    struct Terms: Equatable, Sendable {
        let id: SignInID
        let account: AccountID
        let way: SignInWay
        /// The provider, issuer and client that the tokens will be of.
        let binding: AccountRecord.Binding
        /// The requested scopes.
        let scopes: [String]
        let replacesSubject: Bool
        /// Where the answer comes to; empty for a device.
        let redirectURI: String
        /// Which `iss` the answer must have.
        let issuer: ExpectedIssuer
        /// Who began it, as `AuditActor/memo` has it.
        let startedBy: String?
        let startedAt: WallTime
        var expiresAt: WallTime
        /// The end of the kill log at that time. A kill since then covers the tokens.
        let observedEpoch: Epoch
        let observedEntry: KillID?
    }

    enum Phase: Equatable, Sendable {
        /// At the gateway's listener, and nobody has opened it yet.
        case unopened
        /// Waits for the answer to an authorization request.
        case asked(AuthorizationSecrets)
        /// Waits for somebody who enters a code.
        case device(DeviceGrant)
        /// A process exchanges the answer for tokens. If it has not written the end by then, it has failed.
        case redeeming(ClaimID, until: WallTime)
        case ended(SignInEnd)
    }

    let terms: Terms
    var phase: Phase
}

/// The `iss` of an answer (RFC 9207): a mix-up of providers shows there.
enum ExpectedIssuer: Equatable, Sendable {
    /// The provider promises it, so it must be there.
    case required(String)
    /// It is compared if it is there.
    case optional(String)
    /// The configuration names no issuer: if the answer names one, it must be at this origin, where the browser was sent.
    case origin(String)
}

/// A device authorization that waits for a person (RFC 8628 §3.2).
struct DeviceGrant: Equatable, Sendable {
    let code: Secret
    let userCode: String
    let verificationURI: String
    let verificationURIComplete: String?
    /// The least time between two questions; the provider may make it longer.
    var interval: Duration
    /// When the provider may be asked again. A process that asks moves it on first, so that only one asks.
    var nextPollAt: WallTime
}

/// How a sign-in ended.
package struct SignInEnd: Equatable, Sendable {
    package enum Word: String, Sendable, CaseIterable { case done, failed, cancelled }

    package let word: Word
    /// Why it failed.
    package let failure: SignInFailure?
    /// The scopes that were requested and not granted.
    package let missingScopes: [String]
    package let at: WallTime
}

// MARK: - Encoding

extension SignInRecord: SealableRecord {
    private static let format: UInt8 = 1

    package func encoded() -> Secret {
        let writer = FieldWriter(format: Self.format)
        self.terms.write(to: writer)
        switch self.phase {
        case .unopened:
            writer.write(0 as UInt8)
        case .asked(let secrets):
            writer.write(1 as UInt8)
            writer.write(secrets.state)
            writer.write(secrets.verifier)
            writer.write(secrets.nonce)
            writer.write(secrets.browser) { writer.write($0) }
        case .device(let device):
            writer.write(2 as UInt8)
            writer.write(device.code)
            writer.write(device.userCode)
            writer.write(device.verificationURI)
            writer.write(device.verificationURIComplete) { writer.write($0) }
            writer.write(device.interval)
            writer.write(device.nextPollAt.millisecondsSince1970)
        case .redeeming(let claim, let until):
            writer.write(3 as UInt8)
            writer.write(claim.rawValue)
            writer.write(until.millisecondsSince1970)
        case .ended(let end):
            writer.write(4 as UInt8)
            writer.write(end.word.rawValue)
            writer.write(end.failure) { failure in
                writer.write(failure.code.rawValue)
                writer.write(failure.message)
            }
            writer.write(end.missingScopes) { writer.write($0) }
            writer.write(end.at.millisecondsSince1970)
        }
        return writer.finish()
    }

    package init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: Self.format...Self.format)
        self.terms = try Terms(from: &reader)
        switch try reader.read(UInt8.self) {
        case 0:
            self.phase = .unopened
        case 1:
            self.phase = .asked(
                AuthorizationSecrets(
                    state: try reader.read(),
                    verifier: try reader.read(),
                    nonce: try reader.read(),
                    browser: try reader.readOptional { reader throws(StoreError) in try reader.read() }
                )
            )
        case 2:
            self.phase = .device(
                DeviceGrant(
                    code: try reader.read(),
                    userCode: try reader.read(),
                    verificationURI: try reader.read(),
                    verificationURIComplete: try reader.readOptional { reader throws(StoreError) in try reader.read() },
                    interval: try reader.read(),
                    nextPollAt: WallTime(millisecondsSince1970: try reader.read())
                )
            )
        case 3:
            self.phase = .redeeming(
                ClaimID(rawValue: try reader.read()),
                until: WallTime(millisecondsSince1970: try reader.read())
            )
        case 4:
            self.phase = .ended(try SignInEnd(from: &reader))
        default:
            throw FieldReader.malformed("an unknown phase of a sign-in")
        }
        try reader.finish()
    }
}

extension SignInEnd {
    fileprivate init(from reader: inout FieldReader) throws(StoreError) {
        guard let word = Word(rawValue: try reader.read()) else {
            throw FieldReader.malformed("an unknown end of a sign-in")
        }
        self.word = word
        self.failure = try reader.readOptional { reader throws(StoreError) in
            let code = try reader.read(String.self)
            // A newer replica may have ended it for a reason that this one does not know.
            return SignInFailure(SignInFailure.Code(rawValue: code) ?? .notStored, try reader.read())
        }
        self.missingScopes = try reader.readArray { reader throws(StoreError) in try reader.read() }
        self.at = WallTime(millisecondsSince1970: try reader.read())
    }
}

extension SignInRecord.Terms {
    fileprivate func write(to writer: FieldWriter) {
        writer.write(self.id.rawValue)
        writer.write(self.account.rawValue)
        writer.write(self.way.rawValue)
        writer.write(self.binding.provider.rawValue)
        writer.write(self.binding.issuer.tokenVersion ?? self.binding.issuer.origin)
        writer.write(self.binding.clientID)
        writer.write(self.scopes) { writer.write($0) }
        writer.write(self.replacesSubject)
        writer.write(self.redirectURI)
        switch self.issuer {
        case .required(let issuer):
            writer.write(0 as UInt8)
            writer.write(issuer)
        case .optional(let issuer):
            writer.write(1 as UInt8)
            writer.write(issuer)
        case .origin(let origin):
            writer.write(2 as UInt8)
            writer.write(origin)
        }
        writer.write(self.startedBy) { writer.write($0) }
        writer.write(self.startedAt.millisecondsSince1970)
        writer.write(self.expiresAt.millisecondsSince1970)
        writer.write(self.observedEpoch.rawValue)
        writer.write(self.observedEntry) { writer.write($0.rawValue) }
    }

    fileprivate init(from reader: inout FieldReader) throws(StoreError) {
        self.id = SignInID(rawValue: try reader.read())
        self.account = AccountID(rawValue: try reader.read())
        guard let way = SignInWay(rawValue: try reader.read()) else {
            throw FieldReader.malformed("an unknown way of a sign-in")
        }
        self.way = way
        let provider = ProviderID(rawValue: try reader.read())
        let issuer = try reader.read(String.self)
        self.binding = AccountRecord.Binding(
            provider: provider,
            issuer: TokenIssuer(mark: issuer) ?? .origin(issuer),
            clientID: try reader.read()
        )
        self.scopes = try reader.readArray { reader throws(StoreError) in try reader.read() }
        self.replacesSubject = try reader.read()
        self.redirectURI = try reader.read()
        self.issuer =
            switch try reader.read(UInt8.self) {
            case 0: .required(try reader.read())
            case 1: .optional(try reader.read())
            case 2: .origin(try reader.read())
            default: throw FieldReader.malformed("an unknown kind of issuer")
            }
        self.startedBy = try reader.readOptional { reader throws(StoreError) in try reader.read() }
        self.startedAt = WallTime(millisecondsSince1970: try reader.read())
        self.expiresAt = WallTime(millisecondsSince1970: try reader.read())
        self.observedEpoch = Epoch(rawValue: try reader.read())
        self.observedEntry = try reader.readOptional { reader throws(StoreError) in
            KillID(rawValue: try reader.read())
        }
    }
}
