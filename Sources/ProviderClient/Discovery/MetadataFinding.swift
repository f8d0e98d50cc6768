package import OAuth

/// What came of asking an issuer for its metadata (RFC 8414 §3). No token is in it, or was sent for it.
package enum MetadataFinding: Equatable, Sendable {
    /// The configuration names no issuer.
    case notAsked
    /// A document that can be used, and the places before it that had none.
    case found(ProviderMetadata, at: String, after: [Unusable])
    /// The issuer's host could not be asked.
    case unreachable(VerdictReason, at: String)
    /// No place had a document that can be used.
    case unusable([Unusable])

    /// A place, and why what is there is of no use.
    package struct Unusable: Equatable, Sendable {
        package let address: String
        /// Of the answer.
        package let status: Int
        package let length: Int
        package let error: MetadataError
        /// Whom the document is about, where that is another issuer.
        package let issuer: String?

        package init(address: String, status: Int, length: Int, error: MetadataError, issuer: String? = nil) {
            self.address = address
            self.status = status
            self.length = length
            self.error = error
            self.issuer = issuer
        }
    }
}
