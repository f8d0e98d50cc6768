internal import TokenModel

/// The endpoints at which a provider redeems and revokes tokens.
package struct ProviderMetadata: Hashable, Sendable {
    /// The token endpoint (RFC 6749 §3.2).
    package let tokenEndpoint: ProviderURL
    /// The revocation endpoint (RFC 7009 §2); `nil` if the provider names none and so can't revoke.
    package let revocationEndpoint: ProviderURL?

    package init(tokenEndpoint: ProviderURL, revocationEndpoint: ProviderURL?) {
        self.tokenEndpoint = tokenEndpoint
        self.revocationEndpoint = revocationEndpoint
    }

    /// Reads a metadata document (RFC 8414 §3.2).
    ///
    /// The document's `issuer` must be identical to the requested one (§3.3). Otherwise any server could speak for it.
    /// A document from an encrypted issuer can't name cleartext endpoints, not even on loopback.
    ///
    /// - Parameter allowCleartext: Accepts `http` endpoints on any host.
    package init(
        _ answer: ProviderResponse,
        of issuer: ProviderIssuer,
        allowCleartext: Bool = false
    ) throws(MetadataError) {
        guard answer.status == 200 else { throw .notFound }
        guard answer.bodyEnd != .tooLarge, answer.body.count <= ProviderResponse.bodyLimit,
            answer.contentEncoding.map({ $0.lowercased() == "identity" }) ?? true,
            let fields = answer.body.withUnredacted({ body in try? JSONReader.read(body, members: Self.members) })
        else { throw .unreadable }

        guard Self.text(fields["issuer"]) == issuer.url.text else { throw .issuerDiffers }
        guard let tokenEndpoint = Self.text(fields["token_endpoint"]) else { throw .tokenEndpointMissing }
        self.tokenEndpoint = try Self.endpoint(tokenEndpoint, of: issuer, allowCleartext)

        if let revocationEndpoint = Self.text(fields["revocation_endpoint"]) {
            self.revocationEndpoint = try Self.endpoint(revocationEndpoint, of: issuer, allowCleartext)
        } else {
            self.revocationEndpoint = nil
        }
    }

    /// The issuer that a document names; `nil` if it is not a URL that may be shown.
    package static func issuer(in answer: ProviderResponse) -> String? {
        let fields = answer.body.withUnredacted { body in try? JSONReader.read(body, members: Self.members) }
        guard let issuer = Self.text(fields?["issuer"]), issuer.utf8.count <= 256 else { return nil }
        return (try? ProviderURL(issuer, allowCleartext: true))?.withoutQuery
    }

    private static let members: Set<String> = ["issuer", "token_endpoint", "revocation_endpoint"]

    private static func text(_ value: ResponseValue?) -> String? {
        guard let text = value?.asText, !text.isEmpty else { return nil }
        return text
    }

    private static func endpoint(
        _ text: String,
        of issuer: ProviderIssuer,
        _ allowCleartext: Bool
    ) throws(MetadataError) -> ProviderURL {
        guard let endpoint = try? ProviderURL(text, allowCleartext: allowCleartext),
            endpoint.isEncrypted || allowCleartext || !issuer.url.isEncrypted
        else { throw .endpointRefused }
        return endpoint
    }
}

/// Why a provider's metadata can't be used. The raw values may be logged.
package enum MetadataError: String, Error, Sendable, CaseIterable {
    /// The status of the response is not 200.
    case notFound = "not_found"
    /// The body is not one JSON object within the limits.
    case unreadable
    /// The document names another issuer.
    case issuerDiffers = "issuer_differs"
    case tokenEndpointMissing = "token_endpoint_missing"
    /// An endpoint is not a URL, or is a cleartext one.
    case endpointRefused = "endpoint_refused"
}
