/// What kind of answer a request got: the label of a metric.
package enum StatusClass: Int, CaseIterable, Sendable {
    /// The caller went, or was cut off, before an answer began.
    case none
    case successful, redirection, callerError, serverError
    /// None of those that RFC 9110 §15 has for final answers.
    case other

    /// - Parameter status: 0 where there was no answer.
    package init(status: Int) {
        self =
            switch status / 100 {
            case 0: .none
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
        case .successful: "2xx"
        case .redirection: "3xx"
        case .callerError: "4xx"
        case .serverError: "5xx"
        case .other: "other"
        }
    }
}
