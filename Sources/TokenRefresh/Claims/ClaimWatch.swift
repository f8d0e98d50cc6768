package import TokenModel
package import TokenStorage

/// Finds out when another replica's claim may be broken: it was seen unchanged for its whole time, by reads that
/// succeeded at most 2 s apart.
///
/// Nothing is inferred from the claim's own words but its length: no replica's clock is compared with another's. A gap
/// (this process was stopped, or the store was away) starts the count anew, for the holder may have been stopped too.
package struct ClaimWatch: Equatable, Sendable {
    private struct Sighting: Equatable, Sendable {
        let claim: AccountRecord.Claim
        let version: Version
        /// Of any read, with gaps after it or not.
        let noticed: BootInstant
        var first: BootInstant
        var last: BootInstant
    }

    private var sighting: Sighting?

    package init() {}

    /// Reads further apart than this prove nothing about the time between them.
    package static let longestGap = Duration.seconds(2)

    /// Takes note of a read that found `claim` in the record's `version` at `now`.
    ///
    /// - Returns: whether the claim has lapsed, and may be broken by a write that expects `version`.
    package mutating func saw(_ claim: AccountRecord.Claim, in version: Version, at now: BootInstant) -> Bool {
        var sighting = self.sighting ?? Sighting(claim: claim, version: version, noticed: now, first: now, last: now)
        if sighting.claim != claim || sighting.version != version {
            sighting = Sighting(claim: claim, version: version, noticed: now, first: now, last: now)
        } else if sighting.last.duration(to: now) > Self.longestGap {
            sighting.first = now
        }
        sighting.last = now
        self.sighting = sighting
        return sighting.first.duration(to: now) >= claim.standsFor
    }

    /// Whether `claim` has been there for longer than it stands, whatever lay between the reads: enough to say that
    /// nobody is refreshing, not enough to break it.
    package func isOverdue(_ claim: AccountRecord.Claim, at now: BootInstant) -> Bool {
        guard let sighting, sighting.claim == claim else { return false }
        return sighting.noticed.duration(to: now) > claim.standsFor
    }
}
