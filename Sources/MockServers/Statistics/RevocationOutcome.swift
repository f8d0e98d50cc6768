/// What became of one revocation request, for the count.
package enum RevocationOutcome: Sendable {
    case ok
    case unknown
    case fault
}
