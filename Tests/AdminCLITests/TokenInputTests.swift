internal import AdminCLI
internal import Testing
internal import TokenModel

@Suite struct TokenInputTests {
    @Test(arguments: ["1//refresh-token_x", "  1//refresh-token_x\n", "\r\n\t1//refresh-token_x\r\n"])
    func `a bare refresh token is accepted without the surrounding whitespace`(text: String) throws {
        let tokens = try TokenInput(text)
        #expect(tokens.refreshToken == Secret("1//refresh-token_x"))
        #expect(tokens.accessToken == nil)
        #expect(tokens.expiresIn == nil)
        #expect(String(decoding: tokens.body, as: UTF8.self) == #"{"refresh_token":"1//refresh-token_x"}"#)
    }

    @Test func `the known members of a token response are used, and the others ignored`() throws {
        let tokens = try TokenInput(
            """
            {"token_type": "Bearer", "access_token": "at", "expires_in": 3600, "refresh_token": "r\\"t\\\\",
             "scope": "read", "id_token": {"nested": [1]}}
            """
        )
        #expect(tokens.refreshToken == Secret("r\"t\\"))
        #expect(tokens.accessToken == Secret("at"))
        #expect(tokens.expiresIn == 3_600)
        #expect(
            String(decoding: tokens.body, as: UTF8.self)
                == #"{"refresh_token":"r\"t\\","access_token":"at","expires_in":3600,"scope":"read"}"#
        )
    }

    @Test(
        arguments: [
            ("3600", 3_600), ("\"3600\"", 3_600), ("3599.9", 3_599), ("-5", 0), ("1e30", 1_000_000_000_000),
            ("null", nil),
        ] as [(String, Int64?)]
    )
    func `a lifetime may have any form that providers use`(written: String, seconds: Int64?) throws {
        let tokens = try TokenInput(#"{"refresh_token": "rt", "expires_in": \#(written)}"#)
        #expect(tokens.expiresIn == seconds)
    }

    @Test(arguments: [
        ("", "is empty"),
        (" \n ", "is empty"),
        ("two canaries", "is no token"),
        ("canary\u{7F}", "is no token"),
        ("canary\nanother", "is no token"),
        ("caf\u{e9}-canary", "is no token"),
        (#"{"access_token": "canary"}"#, "has no refresh_token"),
        (#"{"error": {"canary": 1}}"#, "is an error of the provider"),
        (#"{"refresh_token": "canary"#, "cut short"),
        (#"{"refresh_token": ["canary"]}"#, "refresh_token is not of the kind"),
        (#"{"refresh_token": "rt", "expires_in": {}}"#, "expires_in is not of the kind"),
        (#"{"refresh_token": ""}"#, "refresh_token is no token"),
        (#"{"refresh_token": "rt", "access_token": "two canaries"}"#, "access_token is no token"),
        (#"{"refresh_token": "canary", "access_token": "at", "token_type": "DPoP"}"#, "token_type is not Bearer"),
        (#"{"refresh_token": "canary", "token_type": ["DPoP"]}"#, "token_type is not of the kind"),
        ("\"mrt_canary\"", "use jq -r"),
        ("\"mrt_canary", "use jq -r"),
        ("null", "stands for nothing"),
        ("undefined", "stands for nothing"),
        ("[]", "looks like a JSON list"),
        (#"[{"refresh_token":"canary"}]"#, "looks like a JSON list"),
        ("true", "looks like a JSON value"),
        ("12345", "looks like a JSON number"),
        ("-1.5e3", "looks like a JSON number"),
        ("access_token=canary&refresh_token=canary", "looks like a form"),
        ("refresh_token=canary", "looks like a form"),
        ("code=canary&state=", "looks like a form"),
        ("http://127.0.0.1/callback?code=canary", "looks like a URL"),
        ("com.example.canary-app://done?code=canary", "looks like a URL"),
        ("<html>canary</html>", "looks like a web page"),
        ("<!DOCTYPE html>\n<title>canary</title>\n", "looks like a web page"),
        ("martlet_canary7777777777777777777777777777777777777", "looks like a key of martlet callers new"),
    ])
    func `input without tokens is refused without repeating it`(text: String, reason: String) {
        let failure = #expect(throws: CommandFailure.self) { try TokenInput(text) }
        #expect(failure?.status == .usage)
        #expect(failure?.message.contains(reason) == true)
        #expect(failure?.message.contains("canar") == false)
    }

    @Test func `a token over the gateway's limit is refused here`() throws {
        let longest = String(repeating: "x", count: 16_384)
        #expect(try TokenInput(longest).refreshToken == Secret(longest))
        for text in ["\(longest)x", "{\"refresh_token\":\"\(longest)x\"}"] {
            let failure = #expect(throws: CommandFailure.self) { try TokenInput(text) }
            #expect(failure?.status == .usage)
            #expect(failure?.message.contains("has more than 16384 characters") == true)
        }
    }

    @Test(arguments: ["1//0gCanary-x", "abc==", "a=b", "12345-x", "nulls", "0x:/y&z=", "0001", "v1.abc=&", "martlet_x"])
    func `a token that only resembles something else is accepted`(token: String) throws {
        #expect(try TokenInput(token).refreshToken == Secret(token))
    }

    @Test(arguments: ["bearer", "Bearer", "BEARER", "bot", "user"])
    func `the token type is compared without case`(type: String) throws {
        let tokens = try TokenInput(#"{"refresh_token": "rt", "token_type": "\#(type)"}"#)
        #expect(tokens.refreshToken == Secret("rt"))
    }

    @Test(arguments: [
        (#"{"error":"invalid_grant","error_description":"code expired"}"#, " (invalid_grant: code expired)"),
        (#"{"error":"invalid_grant"}"#, " (invalid_grant)"),
        (
            #"{"error":"invalid_grant","error_description":"token rt-canary-0123456789abcdef is dead"}"#,
            " (invalid_grant: token [...] is dead)"
        ),
        (#"{"error":"a\u001b[31m\nb\u00e9"}"#, " (a[31mb)"),
        (#"{"error":""}"#, ""),
        (
            #"{"error":"\#(String(repeating: "no ", count: 100))"}"#,
            " (\(String(repeating: "no ", count: 67).prefix(200)))"
        ),
        (#"{"error":"\#(String(repeating: "x", count: 300))"}"#, " ([...])"),
    ])
    func `the text of an error response is shown without control characters`(text: String, words: String) {
        let failure = #expect(throws: CommandFailure.self) { try TokenInput(text) }
        #expect(failure?.message == "the token answer is an error of the provider and holds no tokens\(words)")
    }
}
