import MockServers
import TokenModel

extension Moment {
    /// So many seconds into a test, which starts at 1,763,683,200 on the wall.
    static func second(_ seconds: Double) -> Moment {
        Moment(
            boot: BootInstant(nanoseconds: Int64(seconds * 1_000_000_000)),
            wall: WallTime(millisecondsSince1970: 1_763_683_200_000 + Int64(seconds * 1_000))
        )
    }
}
