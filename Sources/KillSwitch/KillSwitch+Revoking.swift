internal import Logging
internal import Synchronization
package import TokenModel
internal import TokenStorage

/// Killed tokens are revoked at their providers.
extension KillSwitch {
    /// Dead tokens were stored: has them revoked soon.
    package func lookForKilledTokens() { self.ringForRevocation.yield() }

    /// At the start, at once after a kill, when a provider is to be asked again, and once a minute for what came late.
    func revokeNowAndThen() async {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask {
                while !Task.isCancelled {
                    self.ringForRevocation.yield()
                    await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: .seconds(60)))
                }
            }
            for await _ in self.revocationBell {
                guard let next = await self.revoke() else { continue }
                tasks.addTask {
                    await self.timepiece.rest(until: next)
                    self.ringForRevocation.yield()
                }
            }
            tasks.cancelAll()
        }
    }

    /// Sweeps, and revokes what is due.
    ///
    /// - Returns: when to do so again, before the minute is over.
    private func revoke() async -> BootInstant? {
        do throws(StoreError) {
            try await self.revoker.sweep(self.epochs)
            return try await self.revoker.revokeDue()
        } catch {
            self.logger.debug(
                "killed tokens wait for the store",
                metadata: ["error.code": "\(error.code.rawValue)"]
            )
            return nil
        }
    }

    /// What became of each token that a kill took away.
    package func revocations(of id: KillID) async throws(KillSwitchError) -> [RevocationRecord] {
        guard let kill = self.state.withLock({ $0.kills.first { $0.entry.id == id } }) else {
            throw KillSwitchError(.noSuchKill, "no kill has that id; martlet status shows those there are")
        }
        do throws(StoreError) {
            return try await self.revoker.revocations(of: kill.epoch)
        } catch {
            throw KillSwitchError(error)
        }
    }
}
