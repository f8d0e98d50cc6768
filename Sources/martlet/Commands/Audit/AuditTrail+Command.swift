internal import Audit
internal import Logging
internal import TokenStorage

extension AuditTrail {
    /// Of a command that works on a store itself: what it has to say, it says otherwise than by a log.
    static func command(_ records: SealedRecords) -> AuditTrail {
        AuditTrail(
            records,
            incarnation: nil,
            replica: HostName.text,
            logger: Logger(label: "martlet") { _ in SwiftLogNoOpLogHandler() }
        )
    }
}
