internal import Logging
package import OAuth
package import TokenModel

extension HTTPTokenEndpoint: AuthorizationServer {
    package func features() async throws(AuthorizationServerError) -> SignInFeatures {
        let metadata = try await self.signInMetadata()
        return SignInFeatures(
            hasAuthorizationEndpoint: self.authorizationEndpoint(metadata) != nil,
            authorizationOrigin: self.authorizationEndpoint(metadata)?.origin,
            hasDeviceEndpoint: self.deviceAuthorizationEndpoint(metadata) != nil,
            promisesIssuer: metadata.promisesIssuer,
            issuer: self.settings.issuerName,
            validatesIDTokens: self.settings.issuerName != nil && metadata.keySetURL != nil,
            refusesS256: metadata.refusesS256
        )
    }

    package func authorizationURL(
        _ request: AuthorizationRequest
    ) async throws(AuthorizationServerError) -> String {
        let metadata = try await self.signInMetadata()
        guard let endpoint = self.authorizationEndpoint(metadata) else {
            throw AuthorizationServerError(
                .notOffered,
                "the provider names no authorization endpoint: authorization_endpoint names one"
            )
        }
        let clientID = self.settings.client.clientID
        guard let pushEndpoint = metadata.pushedAuthorizationRequestEndpoint else {
            return request.url(at: endpoint, clientID: clientID)
        }
        let pushed = try await self.prepare("authorization request was sent to the provider", at: pushEndpoint) {
            .pushedAuthorization(request, client: $0)
        } reading: { answer throws(EndpointFault) in
            try PushedAuthorization(answer)
        }
        return AuthorizationRequest.url(at: endpoint, clientID: clientID, pushed: pushed)
    }

    package func startDevice(
        scopes: [String],
        extra: [String: String]
    ) async throws(AuthorizationServerError) -> DeviceAuthorization {
        let metadata = try await self.signInMetadata()
        guard let endpoint = self.deviceAuthorizationEndpoint(metadata) else {
            throw AuthorizationServerError(
                .notOffered,
                "the provider names no device authorization endpoint: device_authorization_endpoint names one"
            )
        }
        return try await self.prepare("device authorization endpoint was asked for a code", at: endpoint) {
            .deviceAuthorization(scopes: scopes, extra: extra, client: $0)
        } reading: { answer throws(EndpointFault) in
            try DeviceAuthorization(answer)
        }
    }

    package func redeem(
        _ code: Secret,
        of issuer: TokenIssuer,
        verifier: Secret,
        redirectURI: String
    ) async -> TokenVerdict {
        let parameters = self.settings.tokenParameters
        // Until the form has left this process, the code is unspent and the person need not sign in again.
        var pauses: [Duration] = [.milliseconds(300), .seconds(1)]
        return await self.withEachProof { proof in
            while true {
                let verdict = await self.ask("token endpoint was asked to redeem a code", issuer, proof, { true }) {
                    client,
                    _,
                    _ in
                    .authorizationCode(
                        code,
                        redirectURI: redirectURI,
                        verifier: verifier,
                        parameters: parameters,
                        client: client
                    )
                } meaning: {
                    $0
                }
                guard case .notSent(let reason) = verdict,
                    ![.shutDown, .signingFailed, .endpointMoved].contains(reason),
                    !pauses.isEmpty, (try? await Task.sleep(for: pauses.removeFirst())) != nil
                else { return verdict }
            }
        }
    }

    package func redeem(device code: Secret, of issuer: TokenIssuer) async -> TokenVerdict {
        let parameters = self.settings.tokenParameters
        return await self.withEachProof { proof in
            await self.ask(
                "token endpoint was asked for the tokens of a device",
                issuer,
                proof,
                { true },
                isUsual: { $0.saysToKeepAsking },
                makeRequest: { client, _, _ in .deviceCode(code, parameters: parameters, client: client) },
                meaning: { $0 }
            )
        }
    }

    /// Makes a token request with one proof of the client after another, until the provider doesn't refuse the client.
    private func withEachProof(_ request: (_ proof: Int) async -> TokenVerdict) async -> TokenVerdict {
        var verdict = TokenVerdict.notSent(.signingFailed)
        for proof in self.prover.order {
            verdict = await request(proof)
            guard case .config(let reason) = verdict, reason.saysClientIsRefused else { return verdict }
        }
        return verdict
    }
}

extension TokenVerdict {
    /// Whether the person has just not agreed yet (RFC 8628 §3.5).
    fileprivate var saysToKeepAsking: Bool {
        guard case .refused(let reason) = self else { return false }
        return ["authorization_pending", "slow_down"].contains(reason.rawValue)
    }
}

extension HTTPTokenEndpoint {
    /// What is known about the provider's sign-ins.
    func signInMetadata() async throws(AuthorizationServerError) -> ProviderMetadata {
        do throws(MetadataSource.Unavailable) {
            return try await self.metadata.signInMetadata()
        } catch {
            throw AuthorizationServerError(
                .unreachable,
                "the provider's metadata can't be fetched or used: the log says why",
                reason: .discoveryFailed
            )
        }
    }

    private func authorizationEndpoint(_ metadata: ProviderMetadata) -> ProviderURL? {
        self.settings.signIn.authorizationEndpoint ?? metadata.authorizationEndpoint
    }

    private func deviceAuthorizationEndpoint(_ metadata: ProviderMetadata) -> ProviderURL? {
        self.settings.signIn.deviceAuthorizationEndpoint ?? metadata.deviceAuthorizationEndpoint
    }

    /// Posts what prepares a sign-in. It spends nothing, so the client's proofs are tried one after another.
    private func prepare<Answer>(
        _ message: Logger.Message,
        at endpoint: ProviderURL,
        makeRequest: (ClientRegistration) -> FormRequest,
        reading read: (ProviderResponse) throws(EndpointFault) -> Answer
    ) async throws(AuthorizationServerError) -> Answer {
        guard let tokenEndpoint = try? await self.metadata.tokenEndpoint() else {
            throw AuthorizationServerError(
                .unreachable,
                "the provider's token endpoint is unknown",
                reason: .discoveryFailed
            )
        }
        let place = ClientProver.Place(
            endpoint: endpoint,
            tokenEndpoint: tokenEndpoint,
            issuer: self.settings.issuerName
        )
        var refusal = EndpointFault.unavailable(.signingFailed)
        for proof in self.prover.order {
            var audiences: [ClientProver.Audience] = [.preparation(place)]
            // Some servers require each endpoint's own URL as the audience. Only signed proofs have an audience.
            if let first = self.prover.audience(proof, .preparation(place)), first != endpoint.text {
                audiences.append(.own(endpoint))
            }
            for audience in audiences {
                let signedAt = self.clock.corrected(self.timepiece.now.wall)
                guard let client = self.prover.registration(proof, for: audience, now: signedAt) else { continue }
                let answer = try await self.answer(to: makeRequest(client), message, at: endpoint)
                do throws(EndpointFault) {
                    let read = try read(answer)
                    self.log(message, .responded(answer), "success", nil)
                    return read
                } catch {
                    self.logFailure(.responded(answer), at: endpoint, error.name, error.reason)
                    guard case .clientRefused = error else { throw AuthorizationServerError(error) }
                    refusal = error
                }
            }
        }
        throw AuthorizationServerError(refusal)
    }

    private func answer(
        to request: FormRequest,
        _ message: Logger.Message,
        at endpoint: ProviderURL
    ) async throws(AuthorizationServerError) -> ProviderResponse {
        let outcome = await self.connector.post(request, to: endpoint, within: self.timeout, mayStillSend: { true })
        self.clock.learn(from: outcome, now: self.timepiece.now.wall)
        if outcome.hintsThatEndpointMoved { self.metadata.forget() }
        switch outcome {
        case .responded(let answer): return answer
        case .notSent(let reason), .broken(let reason):
            self.logFailure(outcome, at: endpoint, "unreachable", reason)
            throw AuthorizationServerError(
                .unreachable,
                "the provider did not respond at \(endpoint.withoutQuery): \(reason)",
                reason: reason
            )
        }
    }

    private func logFailure(
        _ outcome: ExchangeOutcome,
        at endpoint: ProviderURL,
        _ verdict: String,
        _ reason: VerdictReason
    ) {
        self.log("provider did not start a sign-in", at: .warning, of: endpoint, outcome, verdict, reason)
    }
}

extension AuthorizationServerError {
    fileprivate init(_ fault: EndpointFault) {
        let reason = fault.reason
        switch fault {
        case .clientRefused:
            self.init(.refused, "the provider refuses the client: \(reason)", reason: reason)
        case .refused:
            self.init(.refused, "the provider refuses the sign-in: \(reason)", reason: reason)
        case .unavailable(.signingFailed):
            self.init(.unreachable, "the client's assertion could not be signed", reason: reason)
        case .unavailable:
            self.init(.unreachable, "the provider can't start a sign-in now: \(reason)", reason: reason)
        case .malformed:
            self.init(.malformed, "the provider's response to the sign-in can't be used: \(reason)", reason: reason)
        }
    }
}
