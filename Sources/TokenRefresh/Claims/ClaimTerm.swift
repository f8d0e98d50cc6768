package import TokenModel

/// A claim's time as its holder counts it: from the moment the claim's write was *sent*, so that it ends for the holder
/// no later than for anyone who has read it.
package struct ClaimTerm: Equatable, Sendable {
    /// When the write was handed to the store.
    package let sentAt: BootInstant
    /// The longest one token request lasts.
    package let timeout: Duration

    package init(sentAt: BootInstant, timeout: Duration) {
        self.sentAt = sentAt
        self.timeout = timeout
    }

    /// How long a claim stands: one token request, and 4 s for the store on both sides of it.
    package static func length(timeout: Duration) -> Duration { timeout + .seconds(4) }

    /// From here on others may break the claim.
    package var end: BootInstant { self.sentAt.advanced(by: Self.length(timeout: self.timeout)) }

    /// After this moment the token request might not end within the claim, with 1 s to spare; the claim must be written anew.
    package var sendBy: BootInstant { self.end.advanced(by: .zero - self.timeout - .seconds(1)) }
}
