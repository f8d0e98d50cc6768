/// What kind of answer a request got: the label of a metric.
package enum StatusClass: Int, CaseIterable, Sendable {
    /// The caller went, or was cut off, before an answer began.
    case none
    /// A connection that went over to another protocol, and has ended: 101 is the only such final answer.
    case switched
    case successful, redirection, callerError, serverError
    /// None of those that RFC 9110 §15 has for final answers.
    case other

    /// - Parameter status: 0 where there was no answer.
    package init(status: Int) {
        self =
            switch status / 100 {
            case 0: .none
            case 1: .switched
            case 2: .successful
            case 3: .redirection
            case 4: .callerError
            case 5: .serverError
            default: .other
            }
    }

    /// As Prometheus is told.
    package var label: String {
        switch self {
        case .none: "none"
        case .switched: "1xx"
        case .successful: "2xx"
        case .redirection: "3xx"
        case .callerError: "4xx"
        case .serverError: "5xx"
        case .other: "other"
        }
    }
}
