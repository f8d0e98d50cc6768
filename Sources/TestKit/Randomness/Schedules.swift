internal import FoundationEssentials

/// Which seeded schedules a simulation goes through.
package enum Schedules {
    /// The seeds that `MARTLET_SCHEDULES` says, as `10000` or `17..<18`; else `few`, as many as every run of the tests has
    /// time for.
    package static func seeds(or few: UInt64) -> Range<UInt64> {
        let words = (ProcessInfo.processInfo.environment["MARTLET_SCHEDULES"] ?? "").split(separator: "..<")
        let bounds = words.compactMap { UInt64($0) }
        return switch (bounds.first, bounds.dropFirst().first) {
        case (let first?, let last?) where first <= last: first..<last
        case (let count?, nil): 0..<count
        default: 0..<few
        }
    }
}
