internal import Synchronization
package import TokenModel
package import TokenStorage

/// Polls of the log, as other parts ask for them.
extension KillSwitch {
    /// Reads what is new in the log, and fences this process against it.
    ///
    /// - Returns: the kills, by a read that began after this call.
    package func read() async throws(StoreError) -> KillEpochs {
        try await self.poll(renews: false)
        return self.epochs
    }

    /// Asks for a poll that begins after this call, and waits for it.
    ///
    /// - Parameters:
    ///   - renews: whether the poll is to renew the lease, or only to read what is new.
    ///   - deadline: when to stop waiting, whatever the store does; `nil` waits until the poll ends.
    func poll(renews: Bool = true, until deadline: BootInstant? = nil) async throws(StoreError) {
        let end = deadline ?? self.timepiece.now.boot.advanced(by: Self.longestMove)
        while true {
            do throws(StoreError) {
                return try await self.pollOnce(renews: renews, until: deadline)
            } catch {
                // The replicas go over to another store at this moment: that takes less than a caller waits.
                guard error.code == .moved, self.move != nil, self.timepiece.now.boot < end, !Task.isCancelled
                else { throw error }
                await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .milliseconds(20)))
            }
        }
    }

    static let longestMove = Duration.seconds(5)

    private func pollOnce(renews: Bool, until deadline: BootInstant?) async throws(StoreError) {
        let waiter = PollWaiter()
        let isStopped = self.state.withLock { state in
            if !state.isStopped {
                state.asking.append(waiter)
                if renews { state.isRenewalDue = true }
            }
            return state.isStopped
        }
        guard !isStopped else { throw StoreError(.unreachable, "the process stops") }
        self.pollBell.ring()
        let timer = deadline.map { deadline in
            Task(executorPreference: OwnedTasks.executor) {
                await self.timepiece.rest(until: deadline)
                waiter.resume(.failure(StoreError(.unreachable, "the store has not answered in time")))
            }
        }
        defer { timer?.cancel() }
        try await waiter.wait()
    }
}
