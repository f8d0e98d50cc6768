/// An authorization server by the name it gives itself (RFC 8414 §2), which is also where its metadata is found.
package struct ProviderIssuer: Hashable, Sendable {
    /// As it was written; compared letter for letter (RFC 8414 §3.3).
    package let url: ProviderURL

    /// - Throws: ``ProviderURLError`` as ``ProviderURL`` does, and for a query, which an issuer must not have.
    package init(_ text: String, allowCleartext: Bool = false) throws(ProviderURLError) {
        let url = try ProviderURL(text, allowCleartext: allowCleartext)
        guard url.query == nil else { throw ProviderURLError(.malformed, "an issuer has no query") }
        self.url = url
    }

    /// Where to ask, in this order: as RFC 8414 §3.1 says, with the well-known part before the issuer's path, then as
    /// OpenID Connect Discovery 1.0 §4 does, with it behind.
    package var metadataAddresses: [String] {
        let start = self.url.text.dropLast(self.url.path.count)
        let path = self.url.path.hasSuffix("/") ? self.url.path.dropLast() : Substring(self.url.path)
        return [
            "\(start)/.well-known/oauth-authorization-server\(path)",
            "\(start)\(path)/.well-known/openid-configuration",
        ]
    }
}
