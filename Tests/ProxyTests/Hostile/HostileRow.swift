import Testing

/// The rows of the table of hostile input from HTTP/1.1 callers that depend on single bytes or moments. The rows about
/// time have tests of their own.
enum HostileRow: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case lengthAndCoding = "length-and-coding"
    case lengths
    case paddedLengths = "padded-lengths"
    case codings
    case codingCase = "coding-case"
    case codingInOldVersion = "coding-in-1.0"
    case bodyOnAnyMethod = "body-on-any-method"
    case traceAndConnect = "trace-connect"
    case fieldSyntax = "field-syntax"
    case lineEnds = "line-ends"
    case controls
    case highBytes = "high-bytes"
    case host
    case absoluteForm = "absolute-form"
    case targetForms = "target-forms"
    case targetBytes = "target-bytes"
    case paths
    case requestLine = "request-line"
    case preface
    case chunkExtensions = "chunk-extensions"
    case chunkSizes = "chunk-sizes"
    case trailers
    case sizes
    case underscores
    case doubledCredentials = "doubled-credentials"
    case connectionOptions = "connection-options"
    case hopByHop = "hop-by-hop"
    case upgrade
    case expect
    case forwarding
    case pipelines

    var testDescription: String { self.rawValue }
}
