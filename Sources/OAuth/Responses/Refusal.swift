internal import TokenModel

/// That an answer says no, and in which words.
struct Refusal {
    /// The provider's code, where it may be taken over.
    let code: VerdictReason?
    /// The free text speaks of other requests with the same refresh token (Hydra and others that build on fosite).
    /// It is only searched, never kept.
    let asksToRetry: Bool

    /// `nil` where the answer has no `error` and no `"ok": false`. One that is empty, `null`, `false` or 0 is none.
    init?(_ reading: ResponseFields.Reading) {
        guard case .fields(let fields) = reading else { return nil }
        switch fields["error"] {
        case .string(let text) where !text.isEmpty:
            self.code = VerdictReason(text)
        case .number(let number) where number != 0:
            self.code = nil
        case .nested, .boolean(true):
            self.code = nil
        case .string, .number, .null, .boolean(false), nil:
            guard Self.isFalse(fields["ok"]) else { return nil }
            self.code = nil
        }
        self.asksToRetry = ["error_description", "error_hint"].contains { name in
            guard let words = fields[name]?.asText?.lowercased() else { return false }
            return words.contains("multiple concurrent requests") || words.contains("retry the request")
        }
    }

    private static func isFalse(_ value: ResponseValue?) -> Bool {
        value == .boolean(false) || value?.asText == "false"
    }
}

extension VerdictReason {
    fileprivate init?(_ text: Secret) {
        let code = text.count <= 64 ? text.withUnredacted { text in text.indices.map { text[$0] } } : []
        self.init(code: code)
    }
}
