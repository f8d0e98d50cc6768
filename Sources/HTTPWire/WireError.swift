/// Why bytes are not HTTP/1.1 as the gateway accepts it. Equal when the codes are equal.
///
/// For bytes from a caller, the response carries ``code``. For bytes from an upstream, any error means that the
/// connection is discarded.
package struct WireError: Error, Sendable {
    /// Codes that are part of the contract with callers.
    package enum Code: String, Sendable {
        /// Not HTTP/1.1, ambiguous, or out of bounds: 400.
        case badRequest = "bad_request"
        /// The target or the request line is too long: 414.
        case targetTooLong = "target_too_long"
        /// The head, a field, the number of fields, or the trailers are too large: 431.
        case headTooLarge = "head_too_large"
        /// `TRACE`, `TRACK` or `CONNECT`: 405.
        case methodNotAllowed = "method_not_allowed"
        /// An `Expect` other than `100-continue`: 417.
        case expectationFailed = "expectation_failed"
        /// A transfer coding other than `chunked`: 501.
        case notImplemented = "not_implemented"
        /// HTTP, but not 1.x: 505.
        case versionUnsupported = "version_unsupported"
    }

    /// The code in the response to the caller.
    package let code: Code
    /// Which rule was broken. A static string, so that it never holds bytes that a peer sent.
    package let reason: StaticString
    /// The broken rule by its name; `nil` for a rule that only requests have.
    package let rule: WireRule?

    /// - Parameter reason: states the rule, and none of the bytes.
    package init(_ code: Code, _ reason: StaticString) {
        self.code = code
        self.reason = reason
        self.rule = nil
    }

    /// An error for a rule that responses have too.
    package init(_ rule: WireRule) {
        self.code = rule.code
        self.reason = rule.finding
        self.rule = rule
    }

    static func bad(_ reason: StaticString) -> WireError { WireError(.badRequest, reason) }
}

extension WireError: Equatable {
    /// Whether the codes are equal.
    package static func == (left: WireError, right: WireError) -> Bool { left.code == right.code }
}

/// A rule of HTTP/1.1 that an upstream's response can break, under the name that the log and the response to the caller
/// give it.
///
/// Operators look for the names and count by them, so a published name stays. Operations.md explains each.
package enum WireRule: String, Sendable, CaseIterable {
    case notHTTP = "not_http"
    case httpVersion = "http_version"
    case statusLineControl = "status_line_control"
    case statusCode = "status_code"

    case bareLineFeed = "bare_lf"
    case doubledCarriageReturn = "doubled_cr"
    case foldedField = "folded_field"
    case fieldName = "field_name"
    case fieldValue = "field_value"
    case headTooLarge = "head_too_large"
    case fieldTooLarge = "field_too_large"
    case tooManyFields = "too_many_fields"

    case connectionOption = "connection_option"
    case connectionNamesProtected = "connection_names_protected"
    case tooManyConnectionOptions = "too_many_connection_options"

    case twoFramings = "two_framings"
    case contentLength = "content_length"
    case contentLengthsDiffer = "content_lengths_differ"
    case transferEncoding = "transfer_encoding"
    case transferEncodingBytes = "transfer_encoding_bytes"
    case transferEncodingEnd = "transfer_encoding_end"
    case transferEncodingTwice = "transfer_encoding_twice"
    case transferEncodingInHTTP10 = "transfer_encoding_in_http_1_0"

    case chunkSize = "chunk_size"
    case chunkSizeTooLong = "chunk_size_too_long"
    case chunkExtension = "chunk_extension"
    case chunkExtensionsTooLarge = "chunk_extensions_too_large"
    case chunkEnd = "chunk_end"
    case trailersTooLarge = "trailers_too_large"

    case tooManyInterimAnswers = "too_many_interim_answers"
    case upgradeNotAsked = "upgrade_not_asked"

    /// What was found, in plain words.
    package var finding: StaticString {
        switch self {
        case .notHTTP: "no HTTP status line where it belongs"
        case .httpVersion: "an HTTP version other than 1.x"
        case .statusLineControl: "a control character in the status line"
        case .statusCode: "a status code that is not three digits from 100 on"
        case .bareLineFeed: "a line ends with a bare LF"
        case .doubledCarriageReturn: "a line ends with CR CR LF"
        case .foldedField: "a folded or indented field"
        case .fieldName: "a field name is not a token followed by a colon"
        case .fieldValue: "a control character in a field value"
        case .headTooLarge: "the head is too large"
        case .fieldTooLarge: "a field is too large"
        case .tooManyFields: "too many fields"
        case .connectionOption: "a Connection option is not a token"
        case .connectionNamesProtected: "a Connection option names a protected field"
        case .tooManyConnectionOptions: "too many Connection options"
        case .twoFramings: "Content-Length together with Transfer-Encoding"
        case .contentLength: "a Content-Length that is no decimal number of at most 18 digits"
        case .contentLengthsDiffer: "two lengths in Content-Length that differ"
        case .transferEncoding: "a transfer coding other than chunked"
        case .transferEncodingEnd: "transfer codings of which not exactly the last one is chunked"
        case .transferEncodingBytes: "bytes above 0x7F in a transfer coding"
        case .transferEncodingTwice: "more than one Transfer-Encoding"
        case .transferEncodingInHTTP10: "Transfer-Encoding in HTTP/1.0"
        case .chunkSize: "a chunk size that is no hexadecimal number with CRLF behind it"
        case .chunkSizeTooLong: "a chunk size with too many digits"
        case .chunkExtension: "a malformed chunk extension"
        case .chunkExtensionsTooLarge: "more than 1 KiB of chunk extensions"
        case .chunkEnd: "chunk data is not followed by CRLF"
        case .trailersTooLarge: "the trailers are too large"
        case .tooManyInterimAnswers: "more than 20 interim answers to one request"
        case .upgradeNotAsked: "101 that no request asked for, or that is no WebSocket's"
        }
    }

    /// The code that a caller gets whose bytes break the rule.
    var code: WireError.Code {
        switch self {
        case .headTooLarge, .fieldTooLarge, .tooManyFields, .trailersTooLarge: .headTooLarge
        case .transferEncoding: .notImplemented
        case .httpVersion: .versionUnsupported
        default: .badRequest
        }
    }
}
