/// What became of alerts so far.
package struct WebhookCounts: Equatable, Sendable {
    package var delivered: UInt64 = 0
    /// Tries without success; the alert is tried again.
    package var failed: UInt64 = 0
    /// Alerts that nobody was told.
    package var dropped: UInt64 = 0

    package init() {}
}
