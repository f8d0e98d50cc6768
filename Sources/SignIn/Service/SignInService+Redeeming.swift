internal import Audit
internal import Logging
internal import OAuth
internal import ProviderClient
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// From a code to stored tokens. What was issued and can't be stored is revoked.
extension SignInService {
    /// Exchanges a code that was taken, and writes how the sign-in ended.
    func redeem(
        _ terms: SignInRecord.Terms,
        _ claim: ClaimID,
        _ secrets: AuthorizationSecrets,
        code: Secret
    ) async -> SignInEnd {
        let end: SignInEnd
        if let server = self.configuration().providers[terms.binding.provider]?.server, server.isSame(as: terms.binding)
        {
            let verdict = await server.redeem(
                code,
                of: terms.binding.issuer,
                verifier: secrets.verifier,
                redirectURI: terms.redirectURI
            )
            end = await self.conclude(terms, claim, verdict, nonce: secrets.nonceText, server)
        } else {
            end = self.failed(.otherProvider)
        }
        await self.write(end, of: terms, by: claim)
        return end
    }

    /// What a provider's response to a code means for the account.
    ///
    /// - Parameter claim: that of the record, which says that the tokens are still wanted.
    func conclude(
        _ terms: SignInRecord.Terms,
        _ claim: ClaimID,
        _ verdict: TokenVerdict,
        nonce: String?,
        _ server: any AuthorizationServer
    ) async -> SignInEnd {
        let receivedAt = self.timepiece.now
        guard case .success(let grant) = verdict else {
            let failure = SignInFailure(verdict) ?? .otherProvider
            guard case .rotated(let token, _) = verdict else { return self.failed(failure) }
            // Without an access token the answer is no usable one, and the refresh token must not live on.
            let fate = await self.drop(token.refreshToken, nil, terms, server, at: receivedAt)
            return self.failed(failure.saying(fate))
        }
        do throws(SignInFailure) {
            guard grant.refreshToken != nil else { throw .refreshTokenMissing }
            let subject = try await self.subject(in: grant, terms, nonce: nonce, server)
            let tokens = SignedInTokens(
                grant,
                receivedAt: receivedAt,
                binding: terms.binding.settled(by: server.binding),
                observedEpoch: terms.observedEpoch,
                observedEntry: terms.observedEntry,
                subject: subject,
                replacesSubject: terms.replacesSubject
            )
            try await self.store(tokens, terms, claim)
        } catch {
            // Tokens that may be in the store are not revoked: they may be all that the account has.
            guard error != .mayBeStored else { return self.failed(error) }
            let fate = await self.drop(grant.refreshToken, grant.accessToken, terms, server, at: receivedAt)
            return self.failed(error.saying(fate))
        }
        return SignInEnd(
            word: .done,
            failure: nil,
            missingScopes: Self.missing(terms.scopes, in: grant),
            at: self.timepiece.now.wall
        )
    }

    /// Has tokens revoked that came for a sign-in which was cancelled, or in whose place another one has begun.
    func discard(_ verdict: TokenVerdict, _ terms: SignInRecord.Terms, _ server: any AuthorizationServer) async
        -> SignInEnd
    {
        let now = self.timepiece.now
        switch verdict {
        case .success(let grant): _ = await self.drop(grant.refreshToken, grant.accessToken, terms, server, at: now)
        case .rotated(let token, _): _ = await self.drop(token.refreshToken, nil, terms, server, at: now)
        default: break
        }
        return SignInEnd(word: .cancelled, failure: nil, missingScopes: [], at: now.wall)
    }

    private func subject(
        in grant: TokenGrant,
        _ terms: SignInRecord.Terms,
        nonce: String?,
        _ server: any AuthorizationServer
    ) async throws(SignInFailure) -> TokenDigest? {
        guard terms.wantsIDToken else { return nil }
        guard let idToken = grant.idToken else { throw .idTokenMissing }
        var tries = Self.keyTries
        while true {
            do throws(IDTokenError) {
                let subject = try await server.subject(of: idToken, nonce: nonce)
                return TokenDigest(ofSubject: subject, at: terms.issuer.text)
            } catch {
                tries -= 1
                // The code is spent. A moment's outage of the provider's keys must not cost its tokens.
                guard error.code == .keysUnavailable, tries > 0,
                    await self.mayTryAgain(until: self.timepiece.now.boot.advanced(by: .seconds(1)))
                else {
                    throw SignInFailure(.idTokenInvalid, "the provider's ID token is not valid: \(error.message)")
                }
            }
        }
    }

    private static let keyTries = 10

    /// Stores the tokens, with an audit record before it. While the store is out of reach it is tried again.
    private func store(
        _ tokens: SignedInTokens,
        _ terms: SignInRecord.Terms,
        _ claim: ClaimID
    ) async throws(SignInFailure) {
        let deadline = self.timepiece.now.boot.advanced(by: Self.tokenPatience)
        let ticket: AuditTicket
        while true {
            do throws(AuditError) {
                ticket = try await self.audit.begin(
                    .signIn,
                    of: .account(terms.account),
                    detail: "by \(terms.way.rawValue), begun at \(terms.startedAt.rfc3339)",
                    by: .admin(rememberedBy: terms.startedBy)
                )
                break
            } catch {
                guard await self.mayTryAgain(until: deadline) else {
                    throw SignInFailure(
                        .auditUnavailable,
                        "the audit log can't be written, so nothing was stored: \(error.message)"
                    )
                }
            }
        }
        var mayBeStored = false
        while true {
            var failure: SignInFailure
            switch await self.standing(of: terms, claim) {
            case .wanted:
                do throws(AccountChangeError) {
                    try await self.engine.importTokens(of: tokens, for: terms.account)
                    await self.audit.end(ticket, "done")
                    return
                } catch {
                    mayBeStored = mayBeStored || error.mayBeDone
                    failure = SignInFailure(error)
                    if error.code == .storeLost, await self.mayTryAgain(until: deadline) { continue }
                }
            case .unknown:
                failure = .notStored
                if await self.mayTryAgain(until: deadline) { continue }
            case .unwanted: failure = .superseded
            }
            if mayBeStored, failure.code == .notStored { failure = .mayBeStored }
            await self.audit.end(ticket, failure.code.rawValue)
            throw failure
        }
    }

    /// How long tokens in hand wait for the store.
    private static let tokenPatience = Duration.seconds(60)

    private enum Standing { case wanted, unwanted, unknown }

    /// Whether the record of a sign-in still has the claim of this exchange. If not, another sign-in has begun, because this
    /// one took too long, and its tokens are newer.
    private func standing(of terms: SignInRecord.Terms, _ claim: ClaimID) async -> Standing {
        do throws(StoreError) {
            guard let entry = try await self.vault.read(terms.id) else { return .unwanted }
            return if case .redeeming(claim, _) = entry.record.phase { .wanted } else { .unwanted }
        } catch {
            return .unknown
        }
    }

    /// Has tokens revoked that are not stored.
    private func drop(
        _ refreshToken: Secret?,
        _ accessToken: Secret?,
        _ terms: SignInRecord.Terms,
        _ server: any AuthorizationServer,
        at receivedAt: Moment
    ) async -> DroppedTokens {
        let record = AccountRecord(
            grant: .random(),
            generation: .none,
            tokens: TokenSet(
                accessToken: accessToken,
                refreshToken: refreshToken,
                receivedAt: receivedAt.wall,
                lifetime: accessToken == nil ? .zero : Self.unknownLifetime,
                scopes: []
            ),
            observedEpoch: terms.observedEpoch,
            observedEntry: terms.observedEntry,
            binding: terms.binding.settled(by: server.binding)
        )
        let isWide = self.configuration().providers[terms.binding.provider]?.revokesWidely ?? false
        return await self.engine.revoke(dropped: record, of: terms.account, spares: isWide)
    }

    /// When a dropped access token expires is not looked at.
    private static let unknownLifetime = Duration.seconds(3_600)

    func failed(_ failure: SignInFailure) -> SignInEnd {
        SignInEnd(word: .failed, failure: failure, missingScopes: [], at: self.timepiece.now.wall)
    }

    /// Writes the end for everybody who asks. The tokens are stored or revoked by now, so nothing depends on it.
    ///
    /// - Parameter claim: that of the exchange; `nil` if there was none.
    func write(_ end: SignInEnd, of terms: SignInRecord.Terms, by claim: ClaimID? = nil) async {
        self.tell(end, of: terms)
        let deadline = self.timepiece.now.boot.advanced(by: Self.endPatience)
        while true {
            do throws(StoreError) {
                _ = try await self.vault.end(terms.id, end, by: claim, at: self.timepiece.now.wall)
                return
            } catch {
                guard await self.mayTryAgain(until: deadline) else {
                    self.logger.warning(
                        "the end of a sign-in could not be written",
                        metadata: [LogField.account: "\(terms.account)", LogField.code: "\(error.code.rawValue)"]
                    )
                    return
                }
            }
        }
    }

    private static let endPatience = Duration.seconds(30)

    /// The requested scopes that were not granted. A provider that names none has granted all (RFC 6749 §5.1). Two scopes
    /// are granted by what came, and many providers don't name them.
    private static func missing(_ requested: [String], in grant: TokenGrant) -> [String] {
        guard !grant.scopes.isEmpty else { return [] }
        var granted = Set(grant.scopes)
        if grant.refreshToken != nil { granted.insert("offline_access") }
        if grant.idToken != nil { granted.insert("openid") }
        // Google grants these two under other names.
        for scope in ["email", "profile"]
        where granted.contains("https://www.googleapis.com/auth/userinfo.\(scope)") { granted.insert(scope) }
        return requested.filter { !granted.contains($0) }
    }
}

extension AuthorizationServer {
    /// Whether the code is still redeemed where it was issued. A reload may have changed the provider.
    func isSame(as binding: AccountRecord.Binding) -> Bool {
        self.binding.clientID == binding.clientID && binding.issuer.match(self.binding.issuer) == .same
    }
}

extension AccountRecord.Binding {
    /// The same issuer with its token endpoint, once that is known.
    fileprivate func settled(by current: EndpointBinding) -> Self {
        var binding = self
        binding.issuer = self.issuer.settled(by: current.issuer)
        return binding
    }
}

extension ExpectedIssuer {
    var text: String {
        switch self {
        case .required(let text), .optional(let text), .origin(let text): text
        }
    }
}

extension SignInFailure {
    static let otherProvider = SignInFailure(
        .notConfigured,
        "the provider, its token endpoint or its client was changed or removed since the sign-in began; sign in again"
    )

    fileprivate static let superseded = SignInFailure(
        .interrupted,
        "getting the tokens took so long that another sign-in may have begun; look at the account, and sign in again"
    )

    fileprivate static let notStored = SignInFailure(
        .notStored,
        "the store was out of reach for too long, and nothing was stored; sign in again"
    )

    /// Stored or not: the store did not say.
    fileprivate static let mayBeStored = SignInFailure(
        .notStored,
        "the store was out of reach for too long: look at the account, which may have the new tokens, and sign in again if it "
            + "does not"
    )

    /// Why the tokens were not stored.
    init(_ cause: AccountChangeError) {
        let code: Code =
            switch cause.code {
            case .notConfigured, .minted: .notConfigured
            case .killed: .killed
            case .subjectDiffers: .subjectDiffers
            case .invalidTokens: .answerLost
            case .unreadable, .storeLost, .exists, .familyFull: .notStored
            }
        self.init(code, cause.message)
    }

    /// The same failure, and what became of the tokens that came with it.
    fileprivate func saying(_ fate: DroppedTokens) -> SignInFailure {
        let text =
            switch fate {
            case .revoked: "what the provider gave is revoked"
            case .refused: "the provider does not revoke what it gave, which ends by itself"
            case .waiting: "what the provider gave is being revoked"
            case .inUse: "the provider gave what the account has already, which stays"
            case .left:
                "what the provider gave is left to expire, since revoking it there would end other grants of the same user"
            case .lost: "what the provider gave could not be revoked: end it at the provider"
            }
        return SignInFailure(self.code, "\(self.message); \(text)")
    }
}
