internal import Logging
internal import OAuth
internal import ProviderClient
internal import Synchronization
package import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// The answer that a provider gives by way of a browser: whether it is one to this sign-in, and that it is taken once.
extension SignInService {
    /// Takes the address that a browser was sent to, as the operator's command has received it or the operator pasted it.
    ///
    /// - Returns: the sign-in after its end, whatever that is.
    /// - Throws: ``SignInError/Code/invalidAnswer`` for anything but an answer to this sign-in, which still waits then.
    package func answer(_ id: SignInID, with address: Secret) async throws(SignInError) -> SignInReport {
        let (redirectURI, response) = try Self.response(in: address)
        let entry = try await self.entry(id)
        guard entry.record.terms.way == .loopback || entry.record.terms.way == .paste else {
            throw SignInError(.conflict, "the answer to this sign-in does not come in this way")
        }
        if let completion = try await self.take(response, at: redirectURI, entry, from: nil) {
            _ = await completion.value
        }
        // What the store says, because that is what everybody else sees. Without the store the outcome is not known.
        return try await self.report(on: id)
    }

    /// Takes an answer that came to the gateway's own listener. The tokens are exchanged after this has returned.
    ///
    /// - Parameters:
    ///   - redirectURI: where it came to.
    ///   - cookies: those that the browser sent; the one of the sign-in must be among them.
    /// - Returns: the sign-in that it belongs to.
    /// - Throws: ``SignInError/Code/invalidAnswer`` for anything but an answer to a sign-in that this browser began.
    package func accept(
        query: String,
        at redirectURI: String,
        cookies: [Secret]
    ) async throws(SignInError) -> SignInID {
        let response: AuthorizationResponse
        do throws(AuthorizationResponseFault) { response = try AuthorizationResponse.read(query: query) } catch {
            throw SignInError(.invalidAnswer, error.message)
        }
        guard let name = AuthorizationSecrets.name(in: response.state) else { throw Self.foreignState }
        let entry = try await self.storing { () async throws(StoreError) in try await self.vault.read(name) }
        guard let entry, entry.record.terms.way == .gateway else { throw Self.foreignState }
        _ = try await self.take(response, at: redirectURI, entry, from: cookies)
        return entry.record.terms.id
    }

    private static func response(
        in address: Secret
    ) throws(SignInError) -> (redirectURI: String, AuthorizationResponse) {
        let text = address.withUnredacted { bytes in
            String(validating: bytes.indices.map { bytes[$0] }, as: UTF8.self)
        }
        do throws(AuthorizationResponseFault) {
            let (redirectURI, query) = try AuthorizationResponse.split(address: text ?? "")
            return (redirectURI, try AuthorizationResponse.read(query: query))
        } catch {
            throw SignInError(.invalidAnswer, error.message)
        }
    }

    private static let foreignState = SignInError(
        .invalidAnswer,
        "the state in the address is not that of this sign-in: it belongs to another or an older one, or was tampered with"
    )

    /// Checks an answer and takes it.
    ///
    /// - Parameter cookies: `nil` if no browser is bound.
    /// - Returns: where the end of the exchange arrives; `nil` if the sign-in has ended with this answer.
    private func take(
        _ response: AuthorizationResponse,
        at redirectURI: String,
        _ entry: SignInVault.Entry,
        from cookies: [Secret]?
    ) async throws(SignInError) -> SignInCompletion? {
        let (terms, now) = (entry.record.terms, self.timepiece.now.wall)
        let report = SignInReport(entry.record, at: now)
        if let taken = await self.takenBefore(response, entry.record) { return taken }
        guard report.state == .pending, case .asked(let secrets) = entry.record.phase, let name = terms.id.name else {
            throw SignInError(.conflict, "the answer comes too late or again: \(report.standing)")
        }
        guard response.state == secrets.state else { throw Self.foreignState }
        guard Self.isSame(redirectURI, terms.redirectURI) else {
            throw SignInError(
                .invalidAnswer,
                "the address is not the redirect URI of this sign-in, which begins with \(terms.redirectURI)"
            )
        }
        if let cookies {
            guard let browser = secrets.browser, cookies.contains(browser) else {
                throw SignInError(
                    .anotherBrowser,
                    "the answer comes from another browser than the one that began the sign-in, or its cookie is gone"
                )
            }
        }
        // From here on the answer is one to this request, so it ends the sign-in in any case.
        if let failure = await self.obstacle(to: response, terms) {
            return try await self.end(terms, failure, name, over: entry)
        }
        guard case .code(let code) = response.result else { return nil }
        var record = entry.record
        let claim = secrets.claim(on: code, by: self.claimSalt, in: self.vault.storeID)
        let answerTimeout = self.answerTimeout(of: terms.binding.provider)
        record.phase = .redeeming(claim, until: now.advanced(by: answerTimeout + Self.redemptionMargin))
        self.unconfirmed.withLock { unconfirmed in
            // Each stands for an answer that came while the store did not say what it did.
            if unconfirmed.count >= Self.mostUnconfirmed { unconfirmed.removeAll() }
            unconfirmed[claim] = secrets
        }
        let taken: SignInVault.Entry?
        do throws(SignInError) {
            taken = try await self.storing { () async throws(StoreError) in
                try await self.vault.write(record, at: name, over: entry)
            }
        } catch {
            // The answer may be taken. If it comes again, as from a page that is loaded again, it is known by its claim.
            self.forgetUnconfirmed(unless: error.code == .storeLost, claim)
            throw error
        }
        guard taken != nil else {
            self.forgetUnconfirmed(unless: false, claim)
            throw SignInError(.conflict, "the sign-in was answered, cancelled or begun anew at this very moment")
        }
        return await self.exchange(terms, claim, code)
    }

    private static let mostUnconfirmed = 256

    private func forgetUnconfirmed(unless isKept: Bool, _ claim: ClaimID) {
        if !isKept { self.unconfirmed.withLock { _ = $0.removeValue(forKey: claim) } }
    }

    /// The exchange of an answer that this process took without knowing it; `nil` for any other answer.
    private func takenBefore(_ response: AuthorizationResponse, _ record: SignInRecord) async -> SignInCompletion? {
        guard case .redeeming(let claim, _) = record.phase, case .code(let code) = response.result,
            let secrets = self.unconfirmed.withLock({ $0[claim] }), secrets.state == response.state,
            secrets.claim(on: code, by: self.claimSalt, in: self.vault.storeID) == claim
        else { return nil }
        return await self.exchange(record.terms, claim, code)
    }

    /// Has an answer exchanged that is taken, once.
    private func exchange(_ terms: SignInRecord.Terms, _ claim: ClaimID, _ code: Secret) async -> SignInCompletion? {
        guard let secrets = self.unconfirmed.withLock({ $0.removeValue(forKey: claim) }) else { return nil }
        let completion = SignInCompletion()
        let job = Job.redeem(terms, claim, secrets, code: code, ended: completion)
        if case .enqueued = self.newJobs.yield(job) { return completion }
        // A process that stops takes no answers.
        await self.write(self.failed(.interrupted), of: terms, by: claim)
        return nil
    }

    /// Beside the exchange itself: for tries when the provider can't be reached, and for the store.
    private static let redemptionMargin = Duration.seconds(120)

    /// Why an answer to the right request brings no tokens; `nil` if its code is to be exchanged.
    private func obstacle(
        to response: AuthorizationResponse,
        _ terms: SignInRecord.Terms
    ) async -> SignInFailure? {
        switch (terms.issuer, response.issuer) {
        case (.required, nil): return .issuerMissing
        case (.required(let issuer), let found?), (.optional(let issuer), let found?):
            if issuer != found { return .issuerDiffers }
        case (.origin(let origin), let found?):
            if (try? ProviderURL(found, allowCleartext: true))?.origin != origin { return .issuerDiffers }
        case (.optional, nil), (.origin, nil): break
        }
        if case .error(let reason) = response.result { return .refusal(reason) }
        // A kill since the beginning covers the tokens, so none are asked for.
        return await self.killSince(terms)
    }

    /// The kill that covers the tokens of a sign-in; `nil` if there is none, or if the store does not say.
    func killSince(_ terms: SignInRecord.Terms) async -> SignInFailure? {
        do throws(AccountChangeError) {
            let (_, epochs) = try await self.engine.expectTokens(for: terms.account)
            let stamp = AccountRecord(
                grant: .random(),
                generation: .none,
                tokens: nil,
                observedEpoch: terms.observedEpoch,
                observedEntry: terms.observedEntry,
                binding: terms.binding
            )
            guard epochs.verdict(on: stamp, of: terms.account, at: terms.binding.provider) != .live else { return nil }
            return SignInFailure(
                .killed,
                "the account's tokens were killed or removed since the sign-in began; sign in again"
            )
        } catch {
            return error.code == .storeLost ? nil : SignInFailure(error)
        }
    }

    private func end(
        _ terms: SignInRecord.Terms,
        _ failure: SignInFailure,
        _ name: SignInName,
        over entry: SignInVault.Entry?
    ) async throws(SignInError) -> SignInCompletion? {
        let end = SignInEnd(word: .failed, failure: failure, missingScopes: [], at: self.timepiece.now.wall)
        let record = SignInRecord(terms: terms, phase: .ended(end))
        let written = try await self.storing { () async throws(StoreError) in
            try await self.vault.write(record, at: name, over: entry)
        }
        guard written != nil else {
            throw SignInError(.conflict, "the sign-in was answered, cancelled or begun anew at this very moment")
        }
        self.tell(end, of: terms)
        return nil
    }

    func answerTimeout(of provider: ProviderID) -> Duration {
        self.configuration().providers[provider]?.server.answerTimeout ?? .seconds(60)
    }

    /// Logs how a sign-in ended.
    func tell(_ end: SignInEnd, of terms: SignInRecord.Terms) {
        var facts: Logger.Metadata = [
            LogField.account: "\(terms.account)", LogField.provider: "\(terms.binding.provider)",
            LogField.way: "\(terms.way.rawValue)",
        ]
        guard let failure = end.failure else {
            if !end.missingScopes.isEmpty {
                facts["scopes.missing"] = "\(end.missingScopes.joined(separator: " "))"
                self.logger.warning("a sign-in is done, and not all scopes were granted", metadata: facts)
            } else {
                self.logger.info("a sign-in is done", metadata: facts)
            }
            return
        }
        facts[LogField.code] = "\(failure.code.rawValue)"
        facts[LogField.reason] = "\(failure.message)"
        self.logger.warning("a sign-in has failed", metadata: facts)
    }

    /// Compares redirect URIs as texts, but for a path that is missing, which a browser writes as a slash.
    private static func isSame(_ found: String, _ expected: String) -> Bool {
        found == expected || RedirectTarget(found).map { $0 == RedirectTarget(expected) } == true
    }
}
