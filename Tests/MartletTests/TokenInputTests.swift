internal import Testing
internal import TokenModel
internal import martlet

@Suite struct TokenInputTests {
    @Test(arguments: ["1//refresh-token_x", "  1//refresh-token_x\n", "\r\n\t1//refresh-token_x\r\n"])
    func `a refresh token alone is taken without the space around it`(text: String) throws {
        let tokens = try TokenInput(text)
        #expect(tokens.refreshToken == Secret("1//refresh-token_x"))
        #expect(tokens.accessToken == nil)
        #expect(tokens.expiresIn == nil)
        #expect(String(decoding: tokens.body, as: UTF8.self) == #"{"refresh_token":"1//refresh-token_x"}"#)
    }

    @Test func `of a token answer what counts is taken, and the rest passed over`() throws {
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
                == #"{"refresh_token":"r\"t\\","access_token":"at","expires_in":3600}"#
        )
    }

    @Test(
        arguments: [
            ("3600", 3_600), ("\"3600\"", 3_600), ("3599.9", 3_599), ("-5", 0), ("1e30", 1_000_000_000_000),
            ("null", nil),
        ] as [(String, Int64?)]
    )
    func `a lifetime may be written in the ways that providers write it`(written: String, seconds: Int64?) throws {
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
        (#"{"error": "invalid_grant", "error_description": "canary"}"#, "is an error of the provider"),
        (#"{"refresh_token": "canary"#, "cut short"),
        (#"{"refresh_token": ["canary"]}"#, "refresh_token is not of the kind"),
        (#"{"refresh_token": "rt", "expires_in": {}}"#, "expires_in is not of the kind"),
        (#"{"refresh_token": ""}"#, "refresh_token is no token"),
        (#"{"refresh_token": "rt", "access_token": "two canaries"}"#, "access_token is no token"),
    ])
    func `input that holds no tokens is refused without repeating it`(text: String, reason: String) {
        let failure = #expect(throws: CommandFailure.self) { try TokenInput(text) }
        #expect(failure?.status == .usage)
        #expect(failure?.message.contains(reason) == true)
        #expect(failure?.message.contains("canar") == false)
    }
}
