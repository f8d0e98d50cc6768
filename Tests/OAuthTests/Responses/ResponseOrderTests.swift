import OAuth
import Testing
import TokenModel

/// Responses that match several rules of the classifier, and the rule that counts.
@Suite struct ResponseOrderTests {
    private static let success = #"{"access_token":"A"}"#

    @Test(arguments: [
        // An error code about the client or the account counts under any status, even under a server error.
        (302, #"{"error":"invalid_client"}"#, nil, TokenVerdict.config(reason("invalid_client"))),
        (500, #"{"error":"invalid_client"}"#, nil, .config(reason("invalid_client"))),
        (503, #"{"error":"incorrect_client_credentials"}"#, nil, .config(reason("incorrect_client_credentials"))),
        (500, #"{"error":"invalid_scope"}"#, nil, .accountConfig(reason("invalid_scope"))),
        (404, #"{"ok":false,"error":"unauthorized_client"}"#, nil, .accountConfig(reason("unauthorized_client"))),
        // A 429, or a 503 with Retry-After, counts as throttling and not as a failure.
        (503, #"{"error":"temporarily_unavailable"}"#, "20", .throttled(retryAfter: .seconds(20))),
        (503, "<html>", "20", .throttled(retryAfter: .seconds(20))),
        (429, #"{"error":"internal_error"}"#, nil, .throttled(retryAfter: .seconds(30))),
        (429, success, "20", .throttled(retryAfter: .seconds(20))),
        // Under other statuses, Retry-After is ignored.
        (500, "", "20", .ambiguous(.serverError)),
        (502, "", "20", .ambiguous(.serverError)),
        (400, #"{"error":"slow_down"}"#, "20", .refused(reason("slow_down"))),
        // A redirect is not followed, and yields no tokens.
        (303, #"{"error":"unknown"}"#, nil, .refused(reason("unknown"))),
        (308, success, nil, .notProvider(.redirected)),
        // Other statuses and bodies of a refusal.
        (405, "", nil, .notProvider(.answerEmpty)),
        (408, "", nil, .notProvider(.answerEmpty)),
        (410, "gone", nil, .notProvider(.answerUnreadable)),
        (499, "{", nil, .notProvider(.answerCutShort)),
        (400, #"{"error":"Invalid_Grant"}"#, nil, .refused(.noKnownReason)),
        (400, #"{"error":"invalid_grant "}"#, nil, .refused(.noKnownReason)),
        (400, #"{"error":["invalid_grant"]}"#, nil, .refused(.noKnownReason)),
        // A response that can't be read has no error code.
        (400, #"{"error":"invalid_grant""#, nil, .notProvider(.answerCutShort)),
        (500, #"{"error":"invalid_grant""#, nil, .ambiguous(.serverError)),
        (200, #"{"error":"invalid_grant""#, nil, .ambiguous(.answerCutShort)),
        // HTTP has no final response with these statuses.
        (0, success, nil, .ambiguous(.serverError)),
        (199, success, nil, .ambiguous(.serverError)),
    ])
    func `one rule counts`(status: Int, body: String, retryAfter: String?, expected: TokenVerdict) {
        #expect(verdict(answer(status, body, retryAfter: retryAfter)) == expected)
    }

    @Test func `a success with Retry-After is a success`() {
        #expect(grant(answer(200, Self.success, retryAfter: "20"))?.accessToken == Secret("A"))
    }
}
