internal import FoundationEssentials
package import TokenModel

extension Moment {
    /// Reads both clocks.
    package static var now: Moment {
        Moment(
            boot: .now,
            wall: WallTime(millisecondsSince1970: Int64(Date.now.timeIntervalSince1970 * 1_000))
        )
    }

    /// The instant `duration` later on both clocks.
    package func advanced(by duration: Duration) -> Moment {
        Moment(boot: self.boot.advanced(by: duration), wall: self.wall.advanced(by: duration))
    }

    /// The time from here to there, which no jump of the wall clock changes.
    package func duration(to other: Moment) -> Duration { self.boot.duration(to: other.boot) }

    /// Seconds since 1970 with milliseconds, as the statistics show them.
    package var unixSeconds: Double { Double(self.wall.millisecondsSince1970) / 1_000 }
}
