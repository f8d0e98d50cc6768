package import TokenModel

/// The lifetime of a claim as its holder counts it. It starts when the claim's write was *sent*, so that the claim ends
/// for the holder no later than for any process that has read it.
package struct ClaimTerm: Equatable, Sendable {
    /// When the write was handed to the store.
    package let sentAt: BootInstant
    /// The longest duration of one token request.
    package let timeout: Duration

    package init(sentAt: BootInstant, timeout: Duration) {
        self.sentAt = sentAt
        self.timeout = timeout
    }

    /// How long a claim is valid: one token request, and 4 s for the store before and after it.
    package static func length(timeout: Duration) -> Duration { timeout + .seconds(4) }

    /// From this moment on other processes may break the claim.
    package var end: BootInstant { self.sentAt.advanced(by: Self.length(timeout: self.timeout)) }

    /// The latest moment to send the token request, so that it ends 1 s before the claim does. After it the claim must
    /// be renewed.
    package var sendBy: BootInstant { self.end.advanced(by: .zero - self.timeout - .seconds(1)) }
}
