/// How one POST of a form ended on the wire, before anybody has judged what it means.
package enum ExchangeOutcome: Sendable {
    /// The form was never handed to the connection.
    case notSent(VerdictReason)
    /// The form was handed over, and no head of an answer came back.
    case broken(VerdictReason)
    /// The form was handed over, and at least the head of an answer came back.
    case responded(ProviderResponse)
}
