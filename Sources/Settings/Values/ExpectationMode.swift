/// Whether the gateway asks an upstream before it sends a large body (`Expect: 100-continue`, RFC 9110 §10.1.1).
package enum ExpectationMode: String, Sendable, CaseIterable {
    /// Where a dead token would cost the upload, and the upstream is not known to dislike it.
    case auto
    /// Not at all, on this route.
    case never
}
