package import TokenModel

/// Why the response to a request that only prepares a sign-in can't be used. Such a request spends nothing.
package enum EndpointFault: Error, Equatable, Sendable {
    /// The provider rejected the client and did not look at the request.
    case clientRefused(VerdictReason)
    /// The provider rejected the request.
    case refused(VerdictReason)
    /// The provider can't respond now, or another server responded in its place.
    case unavailable(VerdictReason)
    /// A success that lacks what it should contain.
    case malformed(VerdictReason)
}

/// The parts of a fault that may be shown, in logs and to operators.
extension EndpointFault {
    /// One word for the case.
    package var name: String {
        switch self {
        case .clientRefused: "client_refused"
        case .refused: "refused"
        case .unavailable: "unavailable"
        case .malformed: "malformed"
        }
    }

    /// The provider's code or Martlet's own word.
    package var reason: VerdictReason {
        switch self {
        case .clientRefused(let reason), .refused(let reason), .unavailable(let reason), .malformed(let reason): reason
        }
    }
}

extension ResponseFields {
    /// The fields of a successful response.
    static func success(
        in answer: ProviderResponse,
        members: Set<String>
    ) throws(EndpointFault) -> [String: ResponseValue] {
        let reading = Self.read(answer, members: members)
        let refusal = Refusal(reading)
        if let code = refusal?.code, code.saysClientIsRefused { throw .clientRefused(code) }
        if answer.status == 429 { throw .unavailable(refusal?.code ?? .tooManyRequests) }
        switch answer.status {
        case 200..<300:
            if let refusal { throw .refused(refusal.code ?? .noKnownReason) }
            switch reading {
            case .unreadable(let reason): throw .malformed(reason)
            case .fields(let fields): return fields
            }
        case 300..<500:
            if let refusal { throw .refused(refusal.code ?? .noKnownReason) }
            if let reason = ResponseClassifier.emptyRefusal(answer, reading) { throw .refused(reason) }
            throw .unavailable(ResponseClassifier.foreignReason(answer, reading))
        default:
            throw .unavailable(refusal?.code ?? .serverError)
        }
    }
}

/// What a provider gives for an authorization request that was sent to it in advance (RFC 9126 §2.2).
package struct PushedAuthorization: Sendable {
    /// `request_uri`: stands for the request in the browser.
    package let requestURI: Secret

    /// Reads the provider's response.
    package init(_ answer: ProviderResponse) throws(EndpointFault) {
        let fields = try ResponseFields.success(in: answer, members: ["request_uri"])
        guard case .string(let requestURI) = fields["request_uri"], requestURI.count <= 2048,
            TokenSyntax.isAccessToken(requestURI)
        else { throw .malformed(.answerUnreadable) }
        self.requestURI = requestURI
    }
}
