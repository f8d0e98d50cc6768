internal import Synchronization
package import TokenModel

/// How long this replica may go on, as people read it.
package struct LeaseReading: Equatable, Sendable {
    package let now: WallTime
    /// `nil` where it has lapsed.
    package let until: WallTime?
}

extension KillSwitch {
    /// Until when tokens are put into requests, if the kill log is not read again before.
    package var leaseReading: LeaseReading {
        let (end, now) = (self.state.withLock { $0.leaseUntil }, self.timepiece.now)
        return LeaseReading(
            now: now.wall,
            until: end > now.boot ? now.wall.advanced(by: now.boot.duration(to: end)) : nil
        )
    }
}
