package import TokenModel

/// What came back from a provider: the parts of an HTTP answer that a verdict is made of.
package struct ProviderResponse: Sendable {
    /// How much of the body is there.
    package enum BodyEnd: Sendable, CaseIterable {
        /// All of it: the length was announced, or TLS was closed in order.
        case proven
        /// The connection was closed, and nothing says whether that was the end.
        case assumed
        /// Less than was announced.
        case cut
        /// More than ``bodyLimit``; the rest was not read.
        case tooLarge
    }

    /// Bytes of a body that are looked at; a larger one is not read at all.
    package static let bodyLimit = 64 * 1024

    /// Of the status line; not checked to be one there is.
    package let status: Int
    /// `Content-Type`
    package let contentType: String?
    /// `Content-Encoding`
    package let contentEncoding: String?
    /// `Retry-After`
    package let retryAfter: String?
    /// `Date`: what the provider's clock says.
    package let date: WallTime?
    /// What there is of it; a secret as a whole.
    package let body: Secret
    /// Whether that is all.
    package let bodyEnd: BodyEnd

    /// - Parameter date: The field's value; one that is no HTTP date counts as missing.
    package init(
        status: Int,
        contentType: String? = nil,
        contentEncoding: String? = nil,
        retryAfter: String? = nil,
        date: String? = nil,
        body: Secret,
        bodyEnd: BodyEnd
    ) {
        self.status = status
        self.contentType = contentType
        self.contentEncoding = contentEncoding
        self.retryAfter = retryAfter
        self.date = date.flatMap(HTTPDate.read)
        self.body = body
        self.bodyEnd = bodyEnd
    }
}
