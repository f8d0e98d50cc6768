internal import TextCoding
package import TokenModel

/// Reads the fields of a response that a verdict depends on.
enum ResponseFields {
    enum Reading: Equatable {
        case fields([String: ResponseValue])
        case unreadable(VerdictReason)
    }

    static let members: Set<String> = [
        "access_token", "refresh_token", "token_type", "expires_in", "scope", "refresh_expires_in",
        "refresh_token_expires_in", "x_refresh_token_expires_in", "id_token",
    ]
    /// What makes a response a refusal.
    static let refusalMembers: Set<String> = ["ok", "error", "error_description", "error_hint"]

    /// - Parameter members: What a success consists of. Those of a refusal are always read.
    static func read(_ answer: ProviderResponse, members: Set<String> = Self.members) -> Reading {
        if let encoding = answer.contentEncoding, !encoding.isEmpty, encoding.lowercased() != "identity" {
            return .unreadable(.answerCompressed)
        }
        guard answer.bodyEnd != .tooLarge, answer.body.count <= ProviderResponse.bodyLimit else {
            return .unreadable(.answerTooLarge)
        }
        return answer.body.withUnredacted { body in
            do throws(ResponseFault) {
                switch Self.firstByte(of: body) {
                case nil:
                    return .unreadable(answer.bodyEnd == .cut ? .answerCutShort : .answerEmpty)
                case UInt8(ascii: "{"):
                    // An object with its closing brace is complete, whatever happened to the connection after it.
                    return .fields(try JSONReader.read(body, members: members.union(Self.refusalMembers)))
                case UInt8(ascii: "<"):
                    // A form has no `<`. An HTML page may contain text that looks like a form, such as a link with
                    // `error=…`.
                    return .unreadable(.answerHTML)
                default:
                    guard Self.mayBeForm(answer.contentType) else { return .unreadable(.answerUnreadable) }
                    // A form does not show where it ends: a token in it may be cut in half.
                    guard answer.bodyEnd == .proven else { return .unreadable(.answerCutShort) }
                    return .fields(try FormReader.read(body, members: members.union(Self.refusalMembers)))
                }
            } catch {
                return .unreadable(Self.reason(error))
            }
        }
    }

    private static func reason(_ fault: ResponseFault) -> VerdictReason {
        switch fault {
        case .incomplete: .answerCutShort
        case .tooDeep: .answerTooLarge
        case .malformed, .repeatedMember: .answerUnreadable
        }
    }

    private static func firstByte(of body: Span<UInt8>) -> UInt8? {
        var scanner = JSONScanner(at: JSONScanner.start(of: body))
        scanner.skipSpace(body)
        return scanner.peek(body)
    }

    /// Whether a response of this type may be a form. Providers send forms as such, as plain text or without a type,
    /// never as JSON or HTML.
    private static func mayBeForm(_ contentType: String?) -> Bool {
        guard let contentType else { return true }
        let type = contentType.prefix { $0 != ";" && $0 != " " && $0 != "\t" }.lowercased()
        return type == "application/x-www-form-urlencoded" || type == "text/plain"
    }
}

/// Why a body can't be parsed.
enum ResponseFault: Error, Equatable {
    case malformed
    /// The body is incomplete.
    case incomplete
    /// Nested deeper than ``JSONScanner/deepest``.
    case tooDeep
    /// A member that Martlet uses appears twice.
    case repeatedMember
}

extension ResponseFault {
    init(_ fault: JSONScanFault) {
        self =
            switch fault {
            case .malformed: .malformed
            case .incomplete: .incomplete
            case .tooDeep: .tooDeep
            }
    }

    /// Whether a repeated member makes the response ambiguous. For other members the last value counts: a grant must
    /// not be lost because of a repeated `scope`.
    static func isDecisive(_ member: String) -> Bool {
        ![
            "scope", "expires_in", "refresh_expires_in", "refresh_token_expires_in", "token_type", "id_token",
        ].contains(member)
    }
}

/// The response of a provider: the parts that a verdict depends on.
package struct ProviderResponse: Sendable {
    /// Whether the body is complete.
    package enum BodyEnd: Sendable, CaseIterable {
        /// Complete: the length was announced, or TLS was closed in order.
        case proven
        /// Unknown: the connection was closed, and nothing shows whether the body was complete.
        case assumed
        /// Incomplete: shorter than announced.
        case cut
        /// Longer than ``bodyLimit``. The rest was not read.
        case tooLarge
    }

    /// The largest body that is parsed, in bytes.
    package static let bodyLimit = 64 * 1024

    /// The status code. Not checked to be a registered one.
    package let status: Int
    /// `Content-Type`
    package let contentType: String?
    /// `Content-Encoding`
    package let contentEncoding: String?
    /// `Retry-After`
    package let retryAfter: String?
    /// `Date`: the time on the provider's clock.
    package let date: WallTime?
    /// The body as far as it was received. All of it is a secret.
    package let body: Secret
    /// Whether ``body`` is complete.
    package let bodyEnd: BodyEnd

    /// - Parameter date: The value of `Date`. A value that is not an HTTP date counts as missing.
    package init(
        status: Int,
        contentType: String? = nil,
        contentEncoding: String? = nil,
        retryAfter: String? = nil,
        date: String? = nil,
        body: Secret,
        bodyEnd: BodyEnd
    ) {
        self.status = status
        self.contentType = contentType
        self.contentEncoding = contentEncoding
        self.retryAfter = retryAfter
        self.date = date.flatMap(HTTPDate.read)
        self.body = body
        self.bodyEnd = bodyEnd
    }
}
