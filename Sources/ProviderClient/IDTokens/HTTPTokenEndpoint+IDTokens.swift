internal import OAuth
package import TokenModel

extension HTTPTokenEndpoint {
    package func subject(of idToken: Secret, nonce: String?) async throws(IDTokenError) -> String {
        let token = try UnverifiedIDToken(idToken)
        guard let issuer = self.settings.issuerName else {
            throw IDTokenError(.keysUnavailable, "the configuration names no issuer whose ID tokens could be validated")
        }
        try await self.verify(token)
        return try IDTokenClaims(token.payload).subject(
            issuer: issuer,
            clientID: self.settings.client.clientID,
            nonce: nonce,
            now: self.clock.corrected(self.timepiece.now.wall)
        )
    }

    private func verify(_ token: UnverifiedIDToken) async throws(IDTokenError) {
        let finding: KeySet.Finding
        do {
            guard let address = try await self.signInMetadata().keySetURL else {
                throw IDTokenError(.keysUnavailable, "the provider's metadata names no keys (jwks_uri)")
            }
            let keys = try await self.keySet.keys(at: address)
            var found = await keys.verify(token)
            if found == .unknownKey { found = try await self.keySet.renewedKeys(at: address).verify(token) }
            finding = found
        } catch let error as IDTokenError {
            throw error
        } catch {
            if (error as? KeySetSource.Unavailable)?.hasMoved == true { self.metadata.forget() }
            throw IDTokenError(.keysUnavailable, "the provider's keys can't be fetched: the log says why")
        }
        guard finding == .verified else {
            throw IDTokenError(.untrusted, "the ID token is not signed by a key of the provider")
        }
    }
}
