import OAuth
import Testing

@Suite struct VerdictReasonTests {
    @Test(arguments: [
        "invalid_grant", "a", "slow-down", "urn.x_y-z", String(repeating: "a", count: 64),
    ])
    func `valid error codes become reasons`(code: String) {
        #expect(VerdictReason(code)?.description == code)
    }

    @Test(arguments: [
        "", "Invalid", "invalid grant", "invalid_grant\n", "a1", "é", "eyJhbGciOi", String(repeating: "a", count: 65),
    ])
    func `any other text is refused, because it may be a token`(code: String) {
        #expect(VerdictReason(code) == nil)
        let body = #"{"error":"\#(code)"}"#
        // An empty code is no code, and a JSON string must not contain a line break. Neither counts as a refusal.
        let expected: TokenVerdict =
            code.isEmpty
            ? .notProvider(.noKnownReason)
            : code.hasSuffix("\n") ? .notProvider(.answerUnreadable) : .refused(.noKnownReason)
        #expect(verdict(answer(400, body)) == expected)
    }
}
