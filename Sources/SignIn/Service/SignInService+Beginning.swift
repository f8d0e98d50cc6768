package import Audit
internal import Logging
internal import OAuth
internal import ProviderClient
package import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// The beginning of a sign-in: what is asked for, and where somebody is sent.
extension SignInService {
    /// Begins a sign-in. An earlier one of the account that still waits ends.
    ///
    /// - Parameters:
    ///   - redirectURI: where the command listens, for ``SignInWay/loopback`` only.
    ///   - replacesSubject: whether somebody else than before may sign in.
    ///   - actor: who begins it.
    /// - Returns: the sign-in with its address, or with the code for a device.
    package func begin(
        _ account: AccountID,
        _ way: SignInWay,
        redirectURI requested: String? = nil,
        replacesSubject: Bool = false,
        by actor: AuditActor
    ) async throws(SignInError) -> SignInReport {
        let (plan, epochs) = try await self.expectTokens(for: account)
        let configuration = self.configuration()
        guard let provider = configuration.providers[plan.provider] else {
            throw SignInError(
                .conflict,
                "provider \(plan.provider) offers no sign-in: the configuration names neither its issuer nor an authorization_endpoint"
            )
        }
        let redirectURI = try configuration.redirectURI(of: plan.provider, way, requested: requested)
        let scopes = SignInConfiguration.scopes(plan.scopes, and: provider.scopes)
        let features = try await self.features(of: provider, plan.provider)
        try Self.check(features, of: plan.provider, way, scopes)
        if way != .device, !features.promisesIssuer {
            try Self.checkSharing(configuration.sharers(of: redirectURI, with: plan.provider, way), of: plan.provider)
        }
        let binding = provider.server.binding
        let (name, now) = (self.vault.name(of: account), self.timepiece.now.wall)
        var terms = SignInRecord.Terms(
            id: .random(under: name),
            account: account,
            way: way,
            binding: AccountRecord.Binding(
                provider: plan.provider,
                issuer: binding.issuer,
                clientID: binding.clientID
            ),
            scopes: scopes,
            replacesSubject: replacesSubject,
            redirectURI: redirectURI,
            issuer: Self.issuer(of: features),
            startedBy: actor.memo,
            startedAt: now,
            expiresAt: now.advanced(by: Self.lifetime),
            observedEpoch: epochs.last,
            observedEntry: epochs.lastEntry
        )
        switch way {
        case .device:
            let device = try await self.startDevice(provider, plan.provider, scopes)
            terms.expiresAt = now.advanced(by: min(device.lifetime, Self.lifetime))
            try await self.write(SignInRecord(terms: terms, phase: .device(DeviceGrant(device, at: now))), at: name)
            self.pollFromHere(terms.id)
            return try await self.report(on: terms.id)
        case .gateway:
            let record = SignInRecord(terms: terms, phase: .unopened)
            try await self.write(record, at: name)
            return SignInReport(record, url: Self.startAddress(of: terms.id, beside: redirectURI), at: now)
        case .loopback, .paste:
            let secrets = AuthorizationSecrets.random(under: name, bindsBrowser: false)
            let url = try await self.authorizationURL(provider, terms, secrets)
            let record = SignInRecord(terms: terms, phase: .asked(secrets))
            try await self.write(record, at: name)
            return SignInReport(record, url: url, at: now)
        }
    }

    /// Sends a browser from the gateway's listener to the provider. Each call makes a new request: a browser that opens
    /// the address again goes on with the new one.
    ///
    /// - Parameter isNavigation: whether a browser says that a person opens the address. Once somebody has, nothing else may
    ///   take the sign-in away, such as a preview of the link.
    /// - Returns: the provider's address, and the value of the cookie that ties the answer to this browser.
    package func open(
        _ id: SignInID,
        isNavigation: Bool = true
    ) async throws(SignInError) -> (url: String, cookie: Secret) {
        while true {
            let entry = try await self.entry(id)
            let (terms, phase) = (entry.record.terms, entry.record.phase)
            let report = SignInReport(entry.record, at: self.timepiece.now.wall)
            guard terms.way == .gateway, report.state == .pending, let name = id.name else {
                throw SignInError(.conflict, "the sign-in can't be opened: \(report.standing)")
            }
            if case .asked = phase, !isNavigation {
                throw SignInError(.conflict, "the sign-in was opened in a browser already")
            }
            guard let provider = self.configuration().providers[terms.binding.provider] else {
                throw SignInError(.conflict, "provider \(terms.binding.provider) is not configured any more")
            }
            let secrets = AuthorizationSecrets.random(under: name, bindsBrowser: true)
            let url = try await self.authorizationURL(provider, terms, secrets)
            let record = SignInRecord(terms: terms, phase: .asked(secrets))
            let written = try await self.storing { () async throws(StoreError) in
                try await self.vault.write(record, at: name, over: entry)
            }
            guard written != nil, let cookie = secrets.browser else { continue }
            if case .asked = phase {
                self.logger.info(
                    "a sign-in was opened in a browser again",
                    metadata: [LogField.account: "\(terms.account)"]
                )
            }
            return (url, cookie)
        }
    }

    private func expectTokens(
        for account: AccountID
    ) async throws(SignInError) -> (AccountConfiguration, KillEpochs) {
        do throws(AccountChangeError) {
            return try await self.engine.expectTokens(for: account)
        } catch {
            throw SignInError(error)
        }
    }

    private func features(
        of provider: SignInConfiguration.Provider,
        _ name: ProviderID
    ) async throws(SignInError) -> SignInFeatures {
        do throws(AuthorizationServerError) {
            return try await provider.server.features()
        } catch {
            throw SignInError(error, of: name)
        }
    }

    private func startDevice(
        _ provider: SignInConfiguration.Provider,
        _ name: ProviderID,
        _ scopes: [String]
    ) async throws(SignInError) -> DeviceAuthorization {
        do throws(AuthorizationServerError) {
            return try await provider.server.startDevice(scopes: scopes, extra: provider.extra)
        } catch {
            throw SignInError(error, of: name)
        }
    }

    private func authorizationURL(
        _ provider: SignInConfiguration.Provider,
        _ terms: SignInRecord.Terms,
        _ secrets: AuthorizationSecrets
    ) async throws(SignInError) -> String {
        let request = AuthorizationRequest(
            redirectURI: terms.redirectURI,
            scopes: terms.scopes,
            state: secrets.state,
            nonce: terms.wantsIDToken ? secrets.nonceText : nil,
            challenge: secrets.challenge,
            prompt: provider.prompt,
            extra: provider.extra
        )
        do throws(AuthorizationServerError) {
            return try await provider.server.authorizationURL(request)
        } catch {
            throw SignInError(error, of: terms.binding.provider)
        }
    }

    /// Writes a new sign-in in place of the last one. One whose tokens are on their way is not disturbed.
    private func write(_ record: SignInRecord, at name: SignInName) async throws(SignInError) {
        while true {
            let last = try await self.storing { () async throws(StoreError) in try await self.vault.read(name) }
            if let last, SignInReport(last.record, at: self.timepiece.now.wall).state == .redeeming {
                throw SignInError(
                    .conflict,
                    "account \(record.terms.account): another sign-in is getting its tokens just now; look at its outcome first"
                )
            }
            let written = try await self.storing { () async throws(StoreError) in
                try await self.vault.write(record, at: name, over: last)
            }
            if written != nil { return }
        }
    }

    /// Whether the provider takes this way, and says what is needed to trust its answer.
    private static func check(
        _ features: SignInFeatures,
        of provider: ProviderID,
        _ way: SignInWay,
        _ scopes: [String]
    ) throws(SignInError) {
        if way == .device {
            guard features.hasDeviceEndpoint else {
                throw SignInError(
                    .conflict,
                    "provider \(provider) offers no sign-in on another device: its metadata names no "
                        + "device_authorization_endpoint, and neither does the configuration"
                )
            }
        } else {
            guard features.hasAuthorizationEndpoint else {
                throw SignInError(
                    .conflict,
                    "provider \(provider) has no authorization_endpoint, neither in its metadata nor in the configuration"
                )
            }
            guard !features.refusesS256 else {
                throw SignInError(
                    .conflict,
                    "provider \(provider) takes no code challenge of method S256, without which a stolen code is worth tokens"
                )
            }
        }
        guard !scopes.contains("openid") || features.validatesIDTokens else {
            throw SignInError(
                .conflict,
                "provider \(provider): the scopes have openid, and the ID token can't be checked: the provider's metadata "
                    + "names no jwks_uri, or the configuration no issuer"
            )
        }
    }

    /// Without `iss`, only the redirect URI tells whose answer it is (RFC 9700 §4.4.2).
    private static func checkSharing(_ sharers: [ProviderID], of provider: ProviderID) throws(SignInError) {
        guard let other = sharers.first else { return }
        throw SignInError(
            .conflict,
            "provider \(provider) does not promise to say which issuer an answer is of (iss), and provider \(other) has the same "
                + "redirect URI: give \(provider) a login.redirect_uri of its own, and register it there"
        )
    }

    private static func issuer(of features: SignInFeatures) -> ExpectedIssuer {
        guard let issuer = features.issuer else { return .origin(features.authorizationOrigin ?? "") }
        return features.promisesIssuer ? .required(issuer) : .optional(issuer)
    }

    /// The address at which the gateway's listener begins, from that at which it takes answers.
    private static func startAddress(of id: SignInID, beside redirectURI: String) -> String {
        guard let target = RedirectTarget(redirectURI) else { return "" }
        return "\(target.scheme)://\(target.host)\(target.hasPort ? ":\(target.port)" : "")/login/start/\(id)"
    }
}

extension SignInRecord.Terms {
    /// Whether the answer must have an ID token.
    var wantsIDToken: Bool { self.scopes.contains("openid") }
}

extension DeviceGrant {
    fileprivate init(_ device: DeviceAuthorization, at now: WallTime) {
        self.code = device.deviceCode
        self.userCode = device.userCode
        self.verificationURI = device.verificationURI
        self.verificationURIComplete = device.verificationURIComplete
        self.interval = device.interval
        self.nextPollAt = now.advanced(by: device.interval)
    }
}

/// The metadata keys of this module's log entries.
enum LogField {
    static let account = "account.name"
    static let provider = "provider.name"
    static let code = "error.code"
    static let reason = "error.reason"
    static let way = "login.way"
}
