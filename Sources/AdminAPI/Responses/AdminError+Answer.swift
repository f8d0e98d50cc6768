internal import HTTPTypes
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
        case .accountUnreadable, .storeLost, .auditUnavailable: .serviceUnavailable
        }
    }

    fileprivate var title: String {
        switch self.code {
        case .unauthorized: "The admin token is missing or wrong"
        case .tooManyAttempts: "Too many attempts with a wrong token"
        case .forbidden: "Not from there"
        case .roleForbidden: "The administrator's role does not permit it"
        case .notFound: "There is no such thing"
        case .methodNotAllowed: "The path does not take this method"
        case .invalidField: "The request is not as it should be"
        case .conflict: "The request does not go with what is there"
        case .accountUnreadable: "The account's stored record does not open"
        case .storeLost: "The token store is out of reach"
        case .auditUnavailable: "The audit log can't be written, so nothing was changed"
        }
    }

    private var fields: HTTPFields {
        var fields: HTTPFields = [:]
        if self.code == .unauthorized || self.code == .tooManyAttempts { fields[.connection] = "close" }
        switch self.code {
        case .unauthorized: fields[.wwwAuthenticate] = "Bearer realm=\"martlet\""
        // As long as a crowd of wrong tokens is held (`AdminLimits/crowdDelay`).
        case .tooManyAttempts: fields[.retryAfter] = "2"
        case .storeLost, .auditUnavailable: fields[.retryAfter] = "1"
        case .methodNotAllowed: fields[.allow] = self.allowed
        case .forbidden, .roleForbidden, .notFound, .invalidField, .conflict, .accountUnreadable: break
        }
        return fields
    }
}

/// The members of a problem; those that are `nil` are left out.
private struct Problem: Encodable {
    let type: String
    let title: String
    let status: Int
    let detail: String
    let field: String?
    let account: String?

    init(_ error: AdminError) {
        self.type = "urn:martlet:error:\(error.code.rawValue)"
        self.title = error.title
        self.status = error.status.code
        self.detail = error.message
        self.field = error.field
        self.account = error.account?.rawValue
    }
}
