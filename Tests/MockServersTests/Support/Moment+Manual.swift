import MockServers
import TokenModel

extension Moment {
    /// The moment `seconds` after the start of a test, which is 1,763,683,200 s of Unix time on the wall clock.
    static func second(_ seconds: Double) -> Moment {
        Moment(
            boot: BootInstant(nanoseconds: Int64(seconds * 1_000_000_000)),
            wall: WallTime(millisecondsSince1970: 1_763_683_200_000 + Int64(seconds * 1_000))
        )
    }
}
