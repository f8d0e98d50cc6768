/// What is found at a number of the log.
package enum AuditItem: Equatable, Sendable {
    case record(AuditRecord)
    /// A record that does not open, or is not what its place says. It is kept.
    case unreadable(UInt64)

    package var number: UInt64 {
        switch self {
        case .record(let record): record.number
        case .unreadable(let number): number
        }
    }

    /// What a record behind it holds of it.
    package var hash: AuditHash {
        switch self {
        case .record(let record): record.hash
        case .unreadable: .none
        }
    }
}
