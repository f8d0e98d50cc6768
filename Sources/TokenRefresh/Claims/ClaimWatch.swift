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
        let first: BootInstant
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
        if var sighting = self.sighting, sighting.claim == claim, sighting.version == version,
            sighting.last.duration(to: now) <= Self.longestGap
        {
            sighting.last = now
            self.sighting = sighting
            return sighting.first.duration(to: now) >= claim.standsFor
        }
        self.sighting = Sighting(claim: claim, version: version, first: now, last: now)
        return false
    }
}
