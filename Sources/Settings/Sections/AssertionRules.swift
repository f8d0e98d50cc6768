internal import TokenModel

/// What a client signs to prove itself must be of no use to who is shown it (RFC 7523 §3; RFC 9700 §4.4).
enum AssertionRules {
    /// What keeps an assertion for the token endpoint from being shown to this one, where nobody else is named as its audience.
    static func fault(of revocationEndpoint: HTTPURL, beside tokenEndpoint: HTTPURL) -> String? {
        let isShared =
            revocationEndpoint.scheme == tokenEndpoint.scheme && revocationEndpoint.host == tokenEndpoint.host
            && revocationEndpoint.port == tokenEndpoint.port
        guard !isShared else { return nil }
        return """
            is at another origin than token_endpoint, where it could use the assertions that it is shown: add the issuer, which \
            they name then, or private_key.audience
            """
    }

    /// Providers whose client has the private key and the name of another's before it: what one of them is shown may be good at
    /// the other.
    static func sharedKeys(_ providers: [ProviderSettings]) -> [(later: ProviderID, first: ProviderID)] {
        providers.indices.compactMap { index in
            let provider = providers[index]
            guard provider.clientAuthentication == .privateKeyJWT, let key = provider.privateKey else { return nil }
            let first = providers[..<index].first {
                $0.clientAuthentication == .privateKeyJWT && $0.clientID == provider.clientID
                    && ($0.privateKey?.file == key.file || $0.privateKey?.pem == key.pem)
            }
            return first.map { (provider.id, $0.id) }
        }
    }
}
