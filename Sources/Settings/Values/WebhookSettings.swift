/// Where events are told, as JSON that is posted.
package struct WebhookSettings: Equatable, Sendable {
    package let url: HTTPURL
    /// Signs what is posted.
    package let secret: ClientSecret
}
