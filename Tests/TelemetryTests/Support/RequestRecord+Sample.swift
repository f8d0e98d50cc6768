import Telemetry
import TokenModel

extension RequestRecord {
    /// The record of a complete request that began one millisecond after boot.
    static func sample(
        route: Int = 0,
        status: Int = 200,
        replay: Replay = .none,
        _ change: (inout RequestRecord) -> Void = { _ in }
    ) -> RequestRecord {
        var record = RequestRecord(method: "GET", startedAt: BootInstant(nanoseconds: 1_000_000))
        record.route = route
        record.status = status
        record.replay = replay
        record.isWhole = true
        change(&record)
        return record
    }
}

extension LogClock {
    /// 2025-11-21, two seconds after boot.
    static let sample = LogClock(
        now: WallTime(millisecondsSince1970: 1_763_683_200_123),
        bootNow: BootInstant(nanoseconds: 2_000_000_000)
    )
}
