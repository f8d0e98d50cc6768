internal import HTTPTypes
internal import NIOCore
internal import TextCoding

/// A response ready to be written. The writer adds `Date`, `Content-Length` and `Connection` if they are missing.
package struct MockResponse: Equatable, Sendable {
    package var status: Int
    package var fields: [HeaderField]
    package var body: MockResponseBody

    package init(status: Int, fields: [HeaderField] = [], body: MockResponseBody = .empty) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// Whether the response has the field `name`, which is compared without regard to case.
    package func has(_ name: String) -> Bool { self.fields.contains { $0.isNamed(name) } }

    /// A response with a line of JSON that must not be cached (RFC 6749 section 5.1 requires that if it contains
    /// tokens).
    static func json(_ value: some Encodable, status: Int = 200, fields: [HeaderField] = []) throws -> MockResponse {
        MockResponse(
            status: status,
            fields: [HeaderField("Content-Type", "application/json"), HeaderField("Cache-Control", "no-store")]
                + fields,
            body: .whole(ByteBuffer(bytes: try JSONText.encode(value) + [UInt8(ascii: "\n")]))
        )
    }

    /// A refusal in the format of RFC 6749 section 5.2.
    static func refusal(_ refusal: GrantRefusal) throws -> MockResponse {
        let body = ErrorBody(error: refusal.code.rawValue, error_description: refusal.message)
        return switch refusal.code {
        case .invalidClient:
            try .json(
                body,
                status: 401,
                fields: [HeaderField("WWW-Authenticate", #"Basic realm="martlet-mock""#)]
            )
        case .serverError:
            try .json(body, status: 500)
        default:
            try .json(body, status: 400)
        }
    }

    /// The response for an unknown path.
    static func notFound() throws -> MockResponse {
        try .json(ErrorBody(error: "not_found", error_description: "there is nothing at this path"), status: 404)
    }

    /// The response for a known path with the wrong method.
    static func methodNotAllowed(allow: String) throws -> MockResponse {
        try .json(
            ErrorBody(error: "method_not_allowed", error_description: "use \(allow)"),
            status: 405,
            fields: [HeaderField("Allow", allow)]
        )
    }

    private struct ErrorBody: Encodable {
        let error: String
        let error_description: String
    }
}

/// What the mock sends over the connection.
enum Reply: Sendable {
    case whole(MockResponse)

    /// Sends the head and half of the body, then closes the connection.
    case half(MockResponse)

    /// Closes the connection without sending a byte.
    case nothing
}

/// One header field, with its name as it appears on the wire.
package struct HeaderField: Equatable, Sendable {
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Whether HTTP can carry it (RFC 9110 section 5).
    package var isValid: Bool { HTTPField.Name(self.name) != nil && HTTPField.isValidValue(self.value) }

    /// Whether this is the field `name`, which is compared without regard to case.
    package func isNamed(_ name: String) -> Bool { self.name.lowercased() == name.lowercased() }
}
