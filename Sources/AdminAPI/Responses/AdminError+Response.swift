internal import FoundationEssentials
internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore
internal import TextCoding
internal import TokenModel

extension AdminError {
    /// The error as `application/problem+json` (RFC 9457).
    var respond: AdminResponse {
        AdminResponse(self.status, Problem(self), contentType: "application/problem+json", fields: self.fields)
    }

    var status: HTTPResponse.Status {
        switch self.code {
        case .unauthorized: .unauthorized
        case .tooManyAttempts: .tooManyRequests
        case .forbidden, .roleForbidden: .forbidden
        case .notFound: .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .invalidField: .badRequest
        case .conflict: .conflict
        case .providerRefused: .badGateway
        case .keyRefused: .unprocessableContent
        case .unlockLimited: .tooManyRequests
        case .accountUnreadable, .storeLost, .providerUnreachable, .auditUnavailable, .locked, .keyUnavailable:
            .serviceUnavailable
        }
    }

    fileprivate var title: String {
        switch self.code {
        case .unauthorized: "The admin token is missing or wrong"
        case .tooManyAttempts: "Too many attempts with a wrong token"
        case .forbidden: "The request comes from another origin"
        case .roleForbidden: "The administrator's role does not permit it"
        case .notFound: "The path or resource does not exist"
        case .methodNotAllowed: "The path does not take this method"
        case .invalidField: "The request is invalid"
        case .conflict: "The request conflicts with the current state"
        case .accountUnreadable: "The account's stored record can't be decrypted"
        case .locked: "The gateway is locked"
        case .storeLost: "The token store is out of reach"
        case .providerRefused: "The provider refuses the sign-in"
        case .providerUnreachable: "The provider is out of reach"
        case .auditUnavailable: "The audit log can't be written, so nothing was changed"
        case .keyRefused: "The passphrase or key does not open the store"
        case .keyUnavailable: "The gateway can't get its key"
        case .unlockLimited: "Too many wrong passphrases or keys"
        }
    }

    private var fields: HTTPFields {
        var fields: HTTPFields = [:]
        if self.code == .unauthorized || self.code == .tooManyAttempts { fields[.connection] = "close" }
        switch self.code {
        case .unauthorized: fields[.wwwAuthenticate] = "Bearer realm=\"martlet\""
        // As long as the response to an excess wrong token is delayed (`AdminLimits/crowdDelay`).
        case .tooManyAttempts: fields[.retryAfter] = "2"
        case .storeLost, .providerUnreachable, .auditUnavailable, .keyUnavailable, .unlockLimited:
            fields[.retryAfter] = self.secondsToRetry(usually: 1)
        // Somebody has to unlock it first.
        case .locked: fields[.retryAfter] = self.secondsToRetry(usually: 30)
        case .methodNotAllowed: fields[.allow] = self.allowed
        case .forbidden, .roleForbidden, .notFound, .invalidField, .conflict, .accountUnreadable, .providerRefused,
            .keyRefused:
            break
        }
        return fields
    }

    /// The value of `Retry-After` (RFC 9110 §10.2.3): whole seconds, rounded up.
    private func secondsToRetry(usually seconds: Int64) -> String {
        guard let (whole, rest) = self.retryAfter?.components else { return String(seconds) }
        return String(max(whole + (rest > 0 ? 1 : 0), 1))
    }
}

/// The members of a problem document; a member that is `nil` is left out.
private struct Problem: Encodable {
    let type: String
    let title: String
    let status: Int
    let detail: String
    let field: String?
    let account: String?
    let expected: String?

    init(_ error: AdminError) {
        self.type = "urn:martlet:error:\(error.code.rawValue)"
        self.title = error.title
        self.status = error.status.code
        self.detail = error.message
        self.field = error.field
        self.account = error.account?.rawValue
        self.expected = error.expected
    }
}

/// A response of the admin API.
struct AdminResponse: Sendable {
    let status: HTTPResponse.Status
    let contentType: String
    /// The fields besides those of every response.
    var fields: HTTPFields
    let body: [UInt8]

    init(
        _ status: HTTPResponse.Status,
        _ content: some Encodable,
        contentType: String = "application/json",
        fields: HTTPFields = [:]
    ) {
        self.status = status
        self.contentType = contentType
        self.fields = fields
        self.body = Self.text(of: content)
    }

    /// A text, sent unchanged.
    init(_ status: HTTPResponse.Status, text: String, contentType: String) {
        self.status = status
        self.contentType = contentType
        self.fields = [:]
        self.body = Array(text.utf8)
    }

    /// A file, sent unchanged.
    init(_ status: HTTPResponse.Status, bytes: [UInt8], contentType: String, fields: HTTPFields) {
        self.status = status
        self.contentType = contentType
        self.fields = fields
        self.body = bytes
    }

    var head: HTTPResponse {
        var fields = self.fields
        fields[.contentType] = self.contentType
        fields[.contentLength] = String(self.body.count)
        fields[.cacheControl] = "no-store"
        fields[.xContentTypeOptions] = "nosniff"
        return HTTPResponse(status: self.status, headerFields: fields)
    }

    /// - Parameter isHead: whether the request was `HEAD`, whose response has the same head and no body (RFC 9110
    ///   §9.3.2).
    @concurrent
    func write(to writer: consuming ResponseWriter, isHead: Bool) async throws {
        let body = isHead ? ResponseBody() : ResponseBody(byteBuffer: ByteBuffer(bytes: self.body))
        try await writer.write(response: self.head, body: body)
    }

    private static func text(of content: some Encodable) -> [UInt8] {
        // Encoding fails only for numbers that JSON can't represent, and there are none.
        guard let text = try? JSONText.encode(content) else { return Array("{}\n".utf8) }
        return text + [UInt8(ascii: "\n")]
    }
}
