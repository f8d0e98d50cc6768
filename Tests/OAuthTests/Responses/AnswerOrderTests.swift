import OAuth
import Testing
import TokenModel

/// Answers that fit more than one row of what a provider may say: which row counts.
@Suite struct AnswerOrderTests {
    private static let success = #"{"access_token":"A"}"#

    @Test(arguments: [
        // A code about the client or the account counts under any status, also where the provider seems to have failed.
        (302, #"{"error":"invalid_client"}"#, nil, TokenVerdict.config(reason("invalid_client"))),
        (500, #"{"error":"invalid_client"}"#, nil, .config(reason("invalid_client"))),
        (503, #"{"error":"incorrect_client_credentials"}"#, nil, .config(reason("incorrect_client_credentials"))),
        (500, #"{"error":"invalid_scope"}"#, nil, .accountConfig(reason("invalid_scope"))),
        (404, #"{"ok":false,"error":"unauthorized_client"}"#, nil, .accountConfig(reason("unauthorized_client"))),
        // To be told when to come again is not to have failed.
        (503, #"{"error":"temporarily_unavailable"}"#, "20", .throttled(retryAfter: .seconds(20))),
        (503, "<html>", "20", .throttled(retryAfter: .seconds(20))),
        (429, #"{"error":"internal_error"}"#, nil, .throttled(retryAfter: .seconds(30))),
        (429, success, "20", .throttled(retryAfter: .seconds(20))),
        // Of other statuses nobody asked for that.
        (500, "", "20", .ambiguous(.serverError)),
        (502, "", "20", .ambiguous(.serverError)),
        (400, #"{"error":"slow_down"}"#, "20", .refused(reason("slow_down"))),
        // A redirect is not followed, and gives no tokens.
        (303, #"{"error":"unknown"}"#, nil, .refused(reason("unknown"))),
        (308, success, nil, .notProvider(.redirected)),
        // Other words of a refusal.
        (405, "", nil, .notProvider(.answerEmpty)),
        (408, "", nil, .notProvider(.answerEmpty)),
        (410, "gone", nil, .notProvider(.answerUnreadable)),
        (499, "{", nil, .notProvider(.answerCutShort)),
        (400, #"{"error":"Invalid_Grant"}"#, nil, .refused(.noKnownReason)),
        (400, #"{"error":"invalid_grant "}"#, nil, .refused(.noKnownReason)),
        (400, #"{"error":["invalid_grant"]}"#, nil, .refused(.noKnownReason)),
        // In an answer that can't be read there is no code.
        (400, #"{"error":"invalid_grant""#, nil, .notProvider(.answerCutShort)),
        (500, #"{"error":"invalid_grant""#, nil, .ambiguous(.serverError)),
        (200, #"{"error":"invalid_grant""#, nil, .ambiguous(.answerCutShort)),
        // No status that HTTP has for a final answer.
        (0, success, nil, .ambiguous(.serverError)),
        (199, success, nil, .ambiguous(.serverError)),
    ])
    func `one row counts`(status: Int, body: String, retryAfter: String?, expected: TokenVerdict) {
        #expect(verdict(answer(status, body, retryAfter: retryAfter)) == expected)
    }

    @Test func `a success that says when to come again is a success`() {
        #expect(grant(answer(200, Self.success, retryAfter: "20"))?.accessToken == Secret("A"))
    }
}
