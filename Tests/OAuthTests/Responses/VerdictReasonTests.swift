import OAuth
import Testing

@Suite struct VerdictReasonTests {
    @Test(arguments: [
        "invalid_grant", "a", "slow-down", "urn.x_y-z", String(repeating: "a", count: 64),
    ])
    func `codes are taken over`(code: String) {
        #expect(VerdictReason(code)?.description == code)
    }

    @Test(arguments: [
        "", "Invalid", "invalid grant", "invalid_grant\n", "a1", "é", "eyJhbGciOi", String(repeating: "a", count: 65),
    ])
    func `anything else is not, for it may be a token`(code: String) {
        #expect(VerdictReason(code) == nil)
        let body = #"{"error":"\#(code)"}"#
        // An empty one is none, and a line's end stands in no JSON text: neither is the provider's word.
        let expected: TokenVerdict =
            code.isEmpty
            ? .notProvider(.noKnownReason)
            : code.hasSuffix("\n") ? .notProvider(.answerUnreadable) : .refused(.noKnownReason)
        #expect(verdict(answer(400, body)) == expected)
    }
}
