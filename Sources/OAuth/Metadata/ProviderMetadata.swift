internal import TokenModel

/// Where a provider redeems and revokes tokens.
package struct ProviderMetadata: Hashable, Sendable {
    /// RFC 6749 §3.2
    package let tokenEndpoint: ProviderURL
    /// RFC 7009 §2; `nil` where the provider names none: it can't revoke.
    package let revocationEndpoint: ProviderURL?

    package init(tokenEndpoint: ProviderURL, revocationEndpoint: ProviderURL?) {
        self.tokenEndpoint = tokenEndpoint
        self.revocationEndpoint = revocationEndpoint
    }

    /// Reads a metadata document (RFC 8414 §3.2).
    ///
    /// The document's `issuer` must be the one asked for, letter for letter (§3.3), or anybody could speak for it.
    /// A document that came encrypted can't send tokens to an address in the clear, loopback included.
    ///
    /// - Parameter allowCleartext: Takes `http` endpoints on any host.
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

    /// Whom a document is about by its own word, where that can be shown: a URL and nothing else.
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

/// Why a provider's metadata is of no use; the raw values may be logged.
package enum MetadataError: String, Error, Sendable, CaseIterable {
    /// The answer is no 200.
    case notFound = "not_found"
    /// The body is not one JSON object within the limits.
    case unreadable
    /// The document is about another issuer.
    case issuerDiffers = "issuer_differs"
    case tokenEndpointMissing = "token_endpoint_missing"
    /// An endpoint is no URL, or would be reached in the clear.
    case endpointRefused = "endpoint_refused"
}
