internal import KillSwitch
internal import LocalFiles
internal import Logging
internal import Settings
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// Looks after the boots of this host, from the start of this one to its end.
struct BootKeeper: Sendable {
    private let register: BootRegister
    private let logger: Logger

    /// How often boots that have ended are looked for; who meets a claim of one asks at once.
    private static let interval = Duration.seconds(60)

    init(_ register: BootRegister, logger: Logger) {
        self.register = register
        self.logger = logger
    }

    /// Begins `boot`, and takes over what those that have ended left, before anybody asks for a pass.
    ///
    /// - Returns: `nil` where this boot can have no lock, such as on a full disk: it serves all the same. Others wait its
    ///   claims out then, should it be killed, and successes that the store does not take are in its memory alone.
    static func begin(
        _ boot: BootID,
        _ settings: GatewaySettings,
        _ store: OpenedStore,
        logger: Logger
    ) async -> BootRegister? {
        let register: BootRegister
        do throws(SystemCallError) {
            register = try BootRegister(
                boot,
                in: settings.stateDirectory,
                store,
                hasJournal: settings.store.isDurable,
                { record, account throws(StoreError) in
                    try await KillSwitch.takeAway(orphanOf: account, record, in: store.records)
                }
            )
        } catch {
            logger.error(
                "this start can't be made known in state_dir: it goes without a journal",
                metadata: ["error.reason": "\(error.message)"]
            )
            return nil
        }
        if settings.store.isDurable, await !register.hasJournal {
            logger.error("there is no journal: state_dir has no room for it, or can't be written")
        }
        Self.report(await register.inheritAll(), to: logger)
        return register
    }

    /// Comes back when its task is cancelled.
    func run() async {
        while !Task.isCancelled {
            let clock = Timepiece.system
            await clock.rest(until: clock.now.boot.advanced(by: Self.interval))
            guard !Task.isCancelled else { return }
            Self.report(await self.register.inheritAll(), to: self.logger)
        }
    }

    /// Ends the boot in order; call it when nothing is refreshed any more.
    func end(leavesNothing: Bool) async { await self.register.close(leavesNothing: leavesNothing) }

    private static func report(_ inheritance: Inheritance, to logger: Logger) {
        if inheritance.boots > 0 {
            logger.notice(
                "earlier starts on this host did not stop in order",
                metadata: ["boots.count": .stringConvertible(inheritance.boots)]
            )
        }
        if inheritance.committed + inheritance.dropped > 0 {
            logger.notice(
                "new tokens were in the journals of earlier starts",
                metadata: [
                    "journal.committed": .stringConvertible(inheritance.committed),
                    "journal.dropped": .stringConvertible(inheritance.dropped),
                ]
            )
        }
        if inheritance.unopened > 0 {
            let keys = inheritance.missingKeys.map(\.description).sorted().joined(separator: ", ")
            logger.error(
                "new tokens stay in the journals of earlier starts: they do not open with the sealing keys that are there",
                metadata: [
                    "error.code": keys.isEmpty ? "journal_unreadable" : "journal_key_missing",
                    "journal.unopened": .stringConvertible(inheritance.unopened), "sealing_key.missing": "\(keys)",
                ]
            )
        }
        if inheritance.left > 0 {
            logger.error(
                "new tokens stay in the journals of earlier starts: the store does not take them",
                metadata: ["journal.left": .stringConvertible(inheritance.left)]
            )
        }
    }
}
