internal import Audit
internal import GatewayServer
internal import Logging
internal import TokenStorage

extension AuditTrail {
    /// The audit trail of a command that works on a store directly. It logs nothing, because the command prints its own
    /// messages.
    static func command(_ records: SealedRecords) -> AuditTrail {
        AuditTrail(
            records,
            incarnation: nil,
            replica: HostName.text,
            logger: Logger(label: "martlet") { _ in SwiftLogNoOpLogHandler() }
        )
    }
}
