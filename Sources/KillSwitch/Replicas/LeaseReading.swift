internal import Synchronization
package import TokenModel
package import TokenStorage

/// How long this replica may go on, for display.
package struct LeaseReading: Equatable, Sendable {
    package let now: WallTime
    /// `nil` where the lease has lapsed.
    package let until: WallTime?
}

extension KillSwitch {
    /// Until when tokens are put into requests if the kill log is not read again before.
    package var leaseReading: LeaseReading {
        let (end, now) = (self.leaseUntil, self.timepiece.now)
        return LeaseReading(
            now: now.wall,
            until: end > now.boot ? now.wall.advanced(by: now.boot.duration(to: end)) : nil
        )
    }

    /// Reads the log to its end, fences this process against what is new there, and renews its lease.
    package func renew() async throws(StoreError) { try await self.poll() }

    /// Returns at once while the lease holds. Otherwise tries to renew it, for up to a second.
    package func renewIfLapsed() async throws(CredentialError) {
        guard !self.holdsLease else { return }
        let deadline = self.timepiece.now.boot.advanced(by: .seconds(1))
        while self.timepiece.now.boot < deadline {
            do throws(StoreError) {
                try await self.poll(until: deadline)
                if self.holdsLease { return }
            } catch {
                await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .milliseconds(100)))
            }
        }
        throw CredentialError(
            .storeLost,
            "the kill log could not be read for longer than the lease, so no token is used",
            retryAfter: .seconds(1)
        )
    }
}
