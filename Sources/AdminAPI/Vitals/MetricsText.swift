/// Metrics, ready to be sent.
package struct MetricsText: Sendable {
    /// Of the text: media type, version of the format, charset.
    package let contentType: String
    package let text: String

    package init(contentType: String, text: String) {
        self.contentType = contentType
        self.text = text
    }
}
