extension ResponseClassifier {
    /// Judges what came of a revocation request (RFC 7009 §2.2).
    ///
    /// A 200 means the token is invalid now, whatever stands in the body, but for providers that say no with a 200.
    /// Where nothing is certain the token must be taken to be alive.
    package func revocationVerdict(on outcome: ExchangeOutcome) -> RevocationVerdict {
        switch outcome {
        case .notSent(let reason), .broken(let reason): .unreachable(reason)
        case .responded(let answer): self.revocationVerdict(on: answer)
        }
    }

    private func revocationVerdict(on answer: ProviderResponse) -> RevocationVerdict {
        let reading = ResponseFields.read(answer)
        let refusal = Refusal(reading)
        if let code = refusal?.code, code.saysClientIsRefused { return .clientRefused(code) }
        if refusal?.code?.rawValue == "unsupported_token_type" { return .unsupported }
        switch answer.status {
        case 200..<300:
            if let refusal { return .refused(refusal.code ?? .noKnownReason) }
            return answer.bodyEnd == .cut ? .unreachable(.answerCutShort) : .revoked
        case 429:
            return .unreachable(refusal?.code ?? .tooManyRequests)
        case 300..<500:
            if let refusal { return .refused(refusal.code ?? .noKnownReason) }
            if let reason = Self.emptyRefusal(answer, reading) { return .refused(reason) }
            // A token lives on that a proxy says no about.
            return .unreachable(Self.foreignReason(answer, reading))
        default:
            return .unreachable(refusal?.code ?? .serverError)
        }
    }
}
