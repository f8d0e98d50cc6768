import OAuth
import Testing
import TokenModel

@Suite struct ResponseClassifierTests {
    @Test func `a full response becomes a grant with all its parts`() {
        let body = """
            {"access_token": "A1.b-c_~+/=", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "R2",
             "refresh_token_expires_in": 15897600, "scope": "read write", "user": {"id": [1, 2]}}
            """

        #expect(
            verdict(answer(200, body))
                == .success(
                    TokenGrant(
                        accessToken: Secret("A1.b-c_~+/="),
                        refreshToken: Secret("R2"),
                        lifetime: .seconds(3600),
                        refreshLifetime: .seconds(15_897_600),
                        scopes: ["read", "write"]
                    )
                )
        )
    }

    @Test func `a form response becomes the same grant`() {
        let body = "access_token=A1%2Bx&token_type=bearer&expires_in=3600&refresh_token=R2&scope=read+write"
        let expected = TokenGrant(
            accessToken: Secret("A1+x"),
            refreshToken: Secret("R2"),
            lifetime: .seconds(3600),
            scopes: ["read", "write"]
        )

        #expect(
            verdict(answer(200, body, type: "application/x-www-form-urlencoded; charset=utf-8")) == .success(expected)
        )
        #expect(verdict(answer(200, body + "\r\n", type: "text/plain")) == .success(expected))
        #expect(verdict(answer(200, body, type: nil)) == .success(expected))
    }

    @Test(arguments: [
        #"{"access_token":"A"}"#,
        #"{"access_token":"A","token_type":null,"error":null,"ok":true}"#,
        #"{"access_token":"A","token_type":"BEARER","error":""}"#,
        #"{"access_token":"A","error":false}"#,
        #"{"access_token":"A","error":0,"ok":true}"#,
        #"{"access_token":"A","error":0.0}"#,
        #"{"access_token":"A","refresh_token":null}"#,
        #"{"access_token":"A","refresh_token":""}"#,
        #" { "access_token" : "\u0041" , "nested" : { "error" : "invalid_grant" } } "#,
        "\u{FEFF}{\"access_token\":\"A\"}",
    ])
    func `an access token alone is enough for a success`(body: String) {
        #expect(
            verdict(answer(200, body))
                == .success(TokenGrant(accessToken: Secret("A"), refreshToken: nil, lifetime: .seconds(3600)))
        )
    }

    @Test(arguments: [
        (#"{"refresh_token":"R2"}"#, "access_token_unusable"),
        (#"{"access_token":null,"refresh_token":"R2"}"#, "access_token_unusable"),
        (#"{"access_token":"A B","refresh_token":"R2"}"#, "access_token_unusable"),
        (#"{"access_token":"A","token_type":"mac","refresh_token":"R2"}"#, "token_type_unknown"),
    ])
    func `a new refresh token is kept even if the access token beside it is unusable`(body: String, code: String) {
        let rotated = RotatedToken(refreshToken: Secret("R2"))
        #expect(verdict(answer(200, body)) == .rotated(rotated, reason(code)))
        let withEnd = body.dropLast() + #","refresh_token_expires_in":60}"#
        #expect(
            verdict(answer(200, String(withEnd)))
                == .rotated(RotatedToken(refreshToken: Secret("R2"), refreshLifetime: .seconds(60)), reason(code))
        )
    }

    @Test(arguments: [
        #"{"access_token":"","refresh_token":"R\n"}"#, #"{"access_token":"","refresh_token":""}"#,
        #"{"access_token":"","refresh_token":7}"#, #"{"access_token":""}"#,
    ])
    func `without a usable refresh token either, the response is ambiguous`(body: String) {
        #expect(verdict(answer(200, body)) == .ambiguous(.accessTokenUnusable))
    }

    @Test func `a refresh token beside a refusal is ignored`() {
        let body = #"{"error":"temporarily_out","refresh_token":"R2"}"#
        #expect(verdict(answer(200, body)) == .refused(reason("temporarily_out")))
    }

    @Test func `JSON is read whatever its content type`() {
        for type in ["text/html", "text/javascript", "application/x-www-form-urlencoded", nil] {
            #expect(grant(answer(201, #"{"access_token":"A"}"#, type: type)) != nil)
        }
    }

    @Test(arguments: [200, 302, 400, 401, 403, 404, 429, 500, 503])
    func `a dead grant is dead whatever the status`(status: Int) {
        for code in ["invalid_grant", "bad_refresh_token", "invalid_refresh_token", "token_revoked"] {
            let outcome = answer(status, #"{"error":"\#(code)"}"#, retryAfter: "30")
            #expect(verdict(outcome) == .dead(reason(code)))
        }
        #expect(verdict(answer(status, #"{"ok":false,"error":"token_revoked"}"#)) == .dead(reason("token_revoked")))
        #expect(
            verdict(answer(status, "error=bad_refresh_token&error_description=x", type: "text/plain"))
                == .dead(reason("bad_refresh_token"))
        )
    }

    @Test(arguments: [200, 400, 401, 403])
    func `a refused client is distinguished from a refused account`(status: Int) {
        for code in ["invalid_client", "incorrect_client_credentials"] {
            #expect(verdict(answer(status, #"{"error":"\#(code)"}"#)) == .config(reason(code)))
        }
        for code in ["unauthorized_client", "unsupported_grant_type", "invalid_scope"] {
            #expect(verdict(answer(status, #"{"error":"\#(code)"}"#)) == .accountConfig(reason(code)))
        }
    }

    @Test(arguments: [
        (200, #"{"ok":false,"error":"internal_error"}"#, "internal_error"),
        (200, #"{"ok":false,"error":"fatal_error"}"#, "fatal_error"),
        (400, #"{"error":"server_error"}"#, "server_error"),
        (400, #"{"error":"temporarily_unavailable"}"#, "temporarily_unavailable"),
        (500, "", "server_error"),
        (502, "<html>Bad gateway</html>", "server_error"),
        (503, "", "server_error"),
        (504, #"{"error":"upstream-timeout"}"#, "upstream-timeout"),
        (600, "{}", "server_error"),
    ])
    func `a provider failure is ambiguous, as it may have rotated the token`(status: Int, body: String, code: String) {
        #expect(verdict(answer(status, body)) == .ambiguous(reason(code)))
    }

    @Test(arguments: [
        #"{"error":"invalid_request","error_description":"The request is malformed. Failed to refresh token because of multiple concurrent requests using the same token which is not allowed."}"#,
        #"{"error":"invalid_request","error_hint":"Please retry the request."}"#,
    ])
    func `a conflict with another use of the token is recognized`(body: String) {
        #expect(verdict(answer(400, body)) == .conflict(reason("invalid_request")))
    }

    @Test(arguments: [
        (400, #"{"error":"invalid_request","error_description":"missing parameter"}"#, "invalid_request"),
        (400, #"{"error":"invalid_token","error_description":"retry the request"}"#, "invalid_token"),
        (400, #"{"error":"Access Denied"}"#, "no_known_reason"),
        (400, #"{"error":{"type":"OAuthException","code":190}}"#, "no_known_reason"),
        (400, #"{"error":17}"#, "no_known_reason"),
        (200, #"{"ok":false}"#, "no_known_reason"),
        (200, #"{"ok":false,"error":"invalid_arguments","access_token":"A"}"#, "invalid_arguments"),
        (200, #"{"error":"slow.down","access_token":"A"}"#, "slow.down"),
        (200, #"{"error":true,"access_token":"A"}"#, "no_known_reason"),
        (200, #"{"error":1,"access_token":"A"}"#, "no_known_reason"),
        (200, #"{"error":0,"ok":false,"access_token":"A"}"#, "no_known_reason"),
        (200, #"{"error":{},"access_token":"A"}"#, "no_known_reason"),
        (403, #"{"error":"access_denied"}"#, "access_denied"),
        (404, #"{"ok":false}"#, "no_known_reason"),
        // Some providers respond like this to a dead token or a wrong secret.
        (400, "", "answer_empty"),
        (401, " \r\n", "answer_empty"),
    ])
    func `any other error of the provider is a refusal`(status: Int, body: String, code: String) {
        #expect(verdict(answer(status, body)) == .refused(reason(code)))
    }

    @Test(arguments: [
        (301, "", "redirected"),
        (302, #"{"access_token":"A"}"#, "redirected"),
        (307, "<html>", "redirected"),
        (400, "<html>error=invalid_grant</html>", "html"),
        (401, "<html>", "html"),
        (403, "Forbidden", "no_known_reason"),
        (404, "<!DOCTYPE html><title>404</title>", "html"),
        (404, "", "answer_empty"),
        (403, "", "answer_empty"),
        (404, "{}", "no_known_reason"),
        (400, #"{"error":0}"#, "no_known_reason"),
        (400, #"{"message":"no such path"}"#, "no_known_reason"),
        (407, "", "answer_empty"),
    ])
    func `an error without an OAuth error code is not from the provider`(status: Int, body: String, code: String) {
        for type in ["text/html", "text/plain", "application/json", nil] where type == nil || body != "Forbidden" {
            #expect(verdict(answer(status, body, type: type)) == .notProvider(reason(code)))
        }
    }

    @Test(arguments: [
        #"<a href="/login?next=x&error=invalid_grant&again=1">sign in</a>"#,
        "\n <html>&error=invalid_client&</html>",
    ])
    func `an error code inside an HTML page is ignored`(body: String) {
        for type in ["text/plain", nil] {
            #expect(verdict(answer(404, body, type: type)) == .notProvider(.answerHTML))
            #expect(verdict(answer(200, body, type: type)) == .ambiguous(.answerHTML))
        }
    }

    @Test func `tokens under an error status are not a success`() {
        #expect(verdict(answer(400, #"{"access_token":"A"}"#)) == .notProvider(.noKnownReason))
        #expect(verdict(answer(500, #"{"access_token":"A"}"#)) == .ambiguous(.serverError))
    }

    @Test func `an unsent request is not sent, and a broken exchange is ambiguous`() {
        #expect(verdict(.notSent(.connectFailed)) == .notSent(.connectFailed))
        #expect(verdict(.broken(.timedOut)) == .ambiguous(.timedOut))
    }

    @Test(arguments: [
        ("DPoP", ["bearer"], false), ("bot", ["bearer"], false), ("Bot", ["bearer", "bot"], true),
        ("", ["bearer"], false),
    ])
    func `only configured bearer token types are accepted`(type: String, known: [String], taken: Bool) {
        let rules = ResponseRules(bearerTokenTypes: Set(known))
        let outcome = answer(200, #"{"access_token":"A","token_type":"\#(type)"}"#)
        #expect((verdict(outcome, rules: rules) == .ambiguous(.tokenTypeUnknown)) == !taken)
        #expect((grant(outcome, rules: rules) != nil) == taken)
    }

    @Test func `a token type that is not a string is unknown`() {
        for type in ["7", "true", "{}"] {
            #expect(
                verdict(answer(200, #"{"access_token":"A","token_type":\#(type)}"#)) == .ambiguous(.tokenTypeUnknown)
            )
        }
    }

    @Test func `invalid scope values are left out`() {
        let outcome = answer(200, #"{"access_token":"A","scope":"read  a\"b a\\\\b \u00e9 w:all"}"#)
        #expect(grant(outcome)?.scopes == ["read", "w:all"])
        #expect(grant(answer(200, #"{"access_token":"A","scope":["read"]}"#))?.scopes == [])
    }

    @Test func `a verdict shows its name and its reason, but never a token`() {
        let success = verdict(answer(200, #"{"access_token":"canary-1","refresh_token":"canary-2"}"#))
        #expect(success.name == "success")
        #expect(success.reason == nil)
        #expect(!"\(success)".contains("canary"))

        let refusal = verdict(answer(400, #"{"error":"canary 3","error_description":"canary-4"}"#))
        #expect(refusal.name == "refused")
        #expect(refusal.reason == .noKnownReason)
        #expect(!String(reflecting: refusal).contains("canary"))
    }
}
