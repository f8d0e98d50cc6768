internal import AdminAPI
internal import Audit
internal import KillSwitch
internal import Listening
internal import Logging
internal import Settings
internal import TokenModel
internal import TokenStorage

extension Assembly {
    /// Starts the kill switch. Accepting an older store is an operator's change, so it is recorded in the audit log
    /// first.
    ///
    /// The record is appended at the current end of that older store. The store has already used the numbers after that
    /// end, for records that it has lost.
    static func start(
        _ kills: KillSwitch,
        acceptsOlderStore: Bool,
        isDurable: Bool,
        audit: AuditTrail
    ) async throws(CommandFailure) {
        let acceptance = acceptsOlderStore && isDurable ? try await Self.announceOlderStore(to: kills, in: audit) : nil
        do throws(StoreError) {
            // A memory store is older than the host's copy at every start. No operator has to accept that.
            try await kills.start(acceptsOlderStore: acceptsOlderStore || !isDurable)
        } catch {
            if let acceptance { await audit.end(acceptance, error.code.rawValue) }
            throw CommandFailure(error, store: "of this gateway")
        }
        if let acceptance { await audit.end(acceptance, "done") }
    }

    /// - Returns: `nil` if the store lacks nothing.
    private static func announceOlderStore(
        to kills: KillSwitch,
        in audit: AuditTrail
    ) async throws(CommandFailure) -> AuditTicket? {
        let missing: (count: Int, last: Epoch)?
        do throws(StoreError) { missing = try await kills.missingInStore() } catch {
            throw CommandFailure(error, store: "of this gateway")
        }
        guard let missing else { return nil }
        let entries = missing.count == 1 ? "1 entry" : "\(missing.count) entries"
        do throws(AuditError) {
            return try await audit.begin(
                .acceptOlderStore,
                detail: "the store lacks \(entries) of the kill log, the last of epoch \(missing.last)",
                by: .gateway("serve --accept-older-store")
            )
        } catch {
            throw CommandFailure(.unavailable, error.message)
        }
    }

    /// A missing socket is no failure, because operators can use the port.
    static func openSocket(
        _ settings: AdminSettings,
        of admin: AdminServer,
        logger: Logger
    ) async -> AdminSocket? {
        do {
            let limits = AdminLimits(connections: 64, stopGrace: .seconds(5))
            return try await AdminSocket.listen(beside: settings.socket, with: admin, limits: limits)
        } catch {
            LinkedSocket.removeDeadLink(settings.socket)
            logger.warning(
                "there is no admin socket, so commands need a token and the port",
                metadata: ["error.reason": "\(error)"]
            )
            return nil
        }
    }
}
