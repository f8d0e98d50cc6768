/// What may be shown of a verdict: in logs and in the report of a kill.
extension RevocationVerdict {
    /// One word for the case.
    package var name: String {
        switch self {
        case .revoked: "revoked"
        case .refused: "refused"
        case .clientRefused: "client_refused"
        case .unsupported: "unsupported"
        case .unreachable: "unreachable"
        }
    }

    /// Why; `nil` where the case says it all.
    package var reason: VerdictReason? {
        switch self {
        case .revoked, .unsupported: nil
        case .refused(let reason), .clientRefused(let reason), .unreachable(let reason): reason
        }
    }
}
