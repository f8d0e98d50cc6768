/// What became of one token request, for the count.
package enum TokenOutcome: Sendable {
    case ok
    case refused(GrantRefusal)
    case fault
}
