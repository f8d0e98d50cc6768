package import TokenModel

/// Finds out when another process's claim may be broken: it was seen unchanged for its whole time (``UnchangedSince``).
///
/// A claim that its holder renews stands with the same id in another version of the record.
package struct ClaimWatch: Equatable, Sendable {
    private struct Content: Equatable, Sendable {
        let claim: AccountRecord.Claim
        let version: Version
    }

    private var sighting: UnchangedSince<Content>?

    package init() {}

    /// Reads further apart than this prove nothing about the time between them.
    package static let longestGap = UnchangedSince<Content>.longestGap

    /// Takes note of a read that found `claim` in the record's `version` at `now`.
    ///
    /// - Returns: whether the claim has lapsed, and may be broken by a write that expects `version`.
    package mutating func saw(_ claim: AccountRecord.Claim, in version: Version, at now: BootInstant) -> Bool {
        let content = Content(claim: claim, version: version)
        var sighting = self.sighting ?? UnchangedSince(content, at: now)
        let age = sighting.saw(content, at: now)
        self.sighting = sighting
        return sighting.content == content && age >= claim.standsFor
    }

    /// Whether `claim` has been there for longer than it stands, whatever lay between the reads: enough to say that
    /// nobody is refreshing, not enough to break it.
    package func isOverdue(_ claim: AccountRecord.Claim, at now: BootInstant) -> Bool {
        guard let sighting, sighting.content.claim == claim else { return false }
        return sighting.noticedAt.duration(to: now) > claim.standsFor
    }
}
