internal import JSONText
package import TokenModel

/// Reads the members of an answer that a verdict may hang on.
enum ResponseFields {
    enum Reading: Equatable {
        case fields([String: ResponseValue])
        case unreadable(VerdictReason)
    }

    static let members: Set<String> = [
        "access_token", "refresh_token", "token_type", "expires_in", "scope", "refresh_expires_in",
        "refresh_token_expires_in", "x_refresh_token_expires_in", "ok", "error", "error_description", "error_hint",
    ]

    static func read(_ answer: ProviderResponse) -> Reading {
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
                    // An object that closes is whole, whatever became of the connection after it.
                    return .fields(try JSONReader.read(body, members: Self.members))
                case UInt8(ascii: "<"):
                    // A form has no such letter. A page may hold what looks like one: a link with `error=…`.
                    return .unreadable(.answerHTML)
                default:
                    guard Self.mayBeForm(answer.contentType) else { return .unreadable(.answerUnreadable) }
                    // A form does not show its end: a token in it may be half a token.
                    guard answer.bodyEnd == .proven else { return .unreadable(.answerCutShort) }
                    return .fields(try FormReader.read(body, members: Self.members))
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
        var scanner = JSONScanner(at: 0)
        if body.count >= 3, body[0] == 0xEF, body[1] == 0xBB, body[2] == 0xBF { scanner = JSONScanner(at: 3) }
        scanner.skipSpace(body)
        return scanner.peek(body)
    }

    /// Forms come under their own name, as plain text or without a name; never as JSON or HTML.
    private static func mayBeForm(_ contentType: String?) -> Bool {
        guard let contentType else { return true }
        let type = contentType.prefix { $0 != ";" && $0 != " " && $0 != "\t" }.lowercased()
        return type == "application/x-www-form-urlencoded" || type == "text/plain"
    }
}

/// Why a body can't be read.
enum ResponseFault: Error, Equatable {
    case malformed
    /// It ends in the middle.
    case incomplete
    /// Nested deeper than ``JSONScanner/deepest``.
    case tooDeep
    /// A member we would use stands there twice.
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

    /// Whether a member that comes twice leaves open what the answer says. Of any other the last counts: a grant must not
    /// be lost for a doubled `scope`.
    static func isDecisive(_ member: String) -> Bool {
        !["scope", "expires_in", "refresh_expires_in", "refresh_token_expires_in", "token_type"].contains(member)
    }
}

/// What came back from a provider: the parts of an HTTP answer that a verdict is made of.
package struct ProviderResponse: Sendable {
    /// How much of the body is there.
    package enum BodyEnd: Sendable, CaseIterable {
        /// All of it: the length was announced, or TLS was closed in order.
        case proven
        /// The connection was closed, and nothing says whether that was the end.
        case assumed
        /// Less than was announced.
        case cut
        /// More than ``bodyLimit``; the rest was not read.
        case tooLarge
    }

    /// Bytes of a body that are looked at; a larger one is not read at all.
    package static let bodyLimit = 64 * 1024

    /// Of the status line; not checked to be one there is.
    package let status: Int
    /// `Content-Type`
    package let contentType: String?
    /// `Content-Encoding`
    package let contentEncoding: String?
    /// `Retry-After`
    package let retryAfter: String?
    /// `Date`: what the provider's clock says.
    package let date: WallTime?
    /// What there is of it; a secret as a whole.
    package let body: Secret
    /// Whether that is all.
    package let bodyEnd: BodyEnd

    /// - Parameter date: The field's value; one that is no HTTP date counts as missing.
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
