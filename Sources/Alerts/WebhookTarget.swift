package import TokenModel

/// Where alerts are posted, and what signs them.
package struct WebhookTarget: Equatable, Sendable {
    package let url: String
    /// What messages name it by: a path may be what lets in.
    package let host: String
    package let secret: Secret

    package init(url: String, host: String, secret: Secret) {
        self.url = url
        self.host = host
        self.secret = secret
    }
}
