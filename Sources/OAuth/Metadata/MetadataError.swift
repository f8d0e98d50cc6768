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
