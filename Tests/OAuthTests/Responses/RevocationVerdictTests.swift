import OAuth
import Testing

@Suite struct RevocationVerdictTests {
    @Test(arguments: [
        (200, "", RevocationVerdict.revoked),
        (200, "<html>bye</html>", .revoked),
        (204, "", .revoked),
        (200, #"{"ok":true,"revoked":true}"#, .revoked),
        (200, #"{"error":0}"#, .revoked),
        (200, #"{"ok":false,"error":"not_authed"}"#, .refused(reason("not_authed"))),
        (200, #"{"ok":false}"#, .refused(.noKnownReason)),
        (400, #"{"error":"unsupported_token_type"}"#, .unsupported),
        (200, #"{"ok":false,"error":"unsupported_token_type"}"#, .unsupported),
        (400, #"{"error":"invalid_token"}"#, .refused(reason("invalid_token"))),
        (401, #"{"error":"invalid_client"}"#, .clientRefused(reason("invalid_client"))),
        (400, #"{"error":"incorrect_client_credentials"}"#, .clientRefused(reason("incorrect_client_credentials"))),
        (401, "", .refused(.answerEmpty)),
        (403, "<html>", .unreachable(.answerHTML)),
        (404, "", .unreachable(.answerEmpty)),
        (302, "", .unreachable(.redirected)),
        (429, "", .unreachable(.tooManyRequests)),
        (500, "", .unreachable(.serverError)),
        (503, #"{"error":"temporarily_unavailable"}"#, .unreachable(reason("temporarily_unavailable"))),
    ])
    func `the verdict follows the response`(status: Int, body: String, expected: RevocationVerdict) {
        #expect(ResponseClassifier().revocationVerdict(on: answer(status, body)) == expected)
    }

    @Test func `without a complete response, the token counts as alive`() {
        let classifier = ResponseClassifier()
        #expect(classifier.revocationVerdict(on: .notSent(.connectFailed)) == .unreachable(.connectFailed))
        #expect(classifier.revocationVerdict(on: .broken(.timedOut)) == .unreachable(.timedOut))
        #expect(
            classifier.revocationVerdict(on: answer(200, #"{"ok":fal"#, end: .cut)) == .unreachable(.answerCutShort)
        )
    }

    @Test func `a verdict shows its name and its reason`() {
        #expect(RevocationVerdict.revoked.name == "revoked")
        #expect(RevocationVerdict.unsupported.reason == nil)
        #expect(RevocationVerdict.refused(.redirected).reason == .redirected)
        #expect(RevocationVerdict.unreachable(.timedOut).name == "unreachable")
    }
}
