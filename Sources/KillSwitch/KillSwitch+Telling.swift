internal import Logging
internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// Log entries about polls and kills.
extension KillSwitch {
    /// Logs what the machine has noticed.
    func tell(_ notice: KillMachine.Notice) {
        switch notice {
        case .removedFromList:
            self.logger.warning("this replica was removed from the replica list, and joins again")
        case .restored(let count):
            self.logger.error(
                "the store had lost entries of the kill log, and has them again: it was put back, or loses what it acknowledges",
                metadata: ["kill.missing": .stringConvertible(count)]
            )
        case .foreignLog:
            let isNew = self.state.withLock { state in
                defer { state.hasFoundForeignLog = true }
                return !state.hasFoundForeignLog
            }
            guard isNew else { return }
            self.logger.critical(
                "\(StoreError.foreignLog.message)",
                metadata: ["error.code": "\(StoreError.Code.outdated.rawValue)"]
            )
        case .unacknowledged(let code):
            self.logger.warning(
                "this replica could not say that it is fenced; a kill waits for its lease",
                metadata: ["error.code": "\(code.rawValue)"]
            )
        case .waiting(let code):
            self.logger.debug("a kill waits for the store", metadata: ["error.code": "\(code.rawValue)"])
        }
    }

    /// Logs a failed poll: as an error once, when the lease has lapsed. From then on callers get `store_lost`.
    func complain(of error: StoreError) {
        // That passes, and is told when it is over.
        guard !self.isGoingOver else { return }
        let now = self.timepiece.now.boot
        let isNew = self.state.withLock { state in
            guard !state.hasLoggedLapse, state.machine.leaseUntil <= now else { return false }
            state.hasLoggedLapse = true
            return true
        }
        self.logger.log(
            level: isNew ? .error : .debug,
            isNew
                ? "the kill log could not be read for as long as the lease, so no token is used"
                : "the kill log could not be read",
            metadata: ["error.code": "\(error.code.rawValue)", "error.reason": "\(error.message)"]
        )
    }

    func announce(complete epoch: Epoch) {
        let contents = self.known.contents
        let metadata: Logger.Metadata = ["kill.epoch": .stringConvertible(epoch.rawValue)]
        switch contents[epoch]?.kind {
        case .moved:
            self.logger.notice("all replicas have left the store that the records are moved from", metadata: metadata)
        case .locked:
            // A lock that was lifted meanwhile is nothing to act on.
            let stands = contents.standingLock?.epoch == epoch
            self.logger.log(level: stands ? .notice : .debug, "all replicas are locked", metadata: metadata)
        default:
            self.logger.notice("a kill is complete", metadata: metadata)
        }
    }

    func announce(_ kill: FencedLog.Kill) {
        self.logger.notice(
            "tokens are killed",
            metadata: [
                "kill.id": "\(kill.entry.id)", "kill.epoch": .stringConvertible(kill.epoch.rawValue),
                "kill.scope": "\(kill.entry.scope.text)",
            ]
        )
    }
}
