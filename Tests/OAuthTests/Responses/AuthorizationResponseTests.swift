import OAuth
import Testing
import TokenModel

@Suite struct AuthorizationResponseTests {
    @Test func `a code comes with the state and the issuer`() throws {
        let response = try AuthorizationResponse.read(
            query: "session_state=x&code=c%2F1+2&state=s1&iss=https%3A%2F%2Flogin.acme.example"
        )
        #expect(response.state == Secret("s1"))
        #expect(response.issuer == "https://login.acme.example")
        #expect(response.result == .code(Secret("c/1 2")))
    }

    @Test func `an error comes as the provider's word, and as none if it may not be shown`() throws {
        let denied = try AuthorizationResponse.read(query: "error=access_denied&error_description=no%21&state=s1")
        #expect(denied.result == .error(reason("access_denied")))
        #expect(denied.issuer == nil)
        let odd = try AuthorizationResponse.read(query: "error=%3Cb%3E&state=s1")
        #expect(odd.result == .error(nil))
    }

    @Test(arguments: [
        ("", AuthorizationResponseFault.Code.stateMissing),
        ("code=c", .stateMissing),
        ("code=c&state=", .stateMissing),
        ("code=c&State=s", .stateMissing),
        ("state=s", .neitherCodeNorError),
        ("state=s&code=&error=", .neitherCodeNorError),
        ("state=s&code=c&error=e", .malformed),
        ("state=s&code=c&code=c", .repeated),
        ("state=s&code=&code=c", .repeated),
        ("state=s&code=c&st%61te=s", .repeated),
        ("state=s&error=e&error=e", .repeated),
        ("state=s&code=c&iss=a&iss=a", .repeated),
        ("state=s&code=c&state", .repeated),
        ("state=s&code=c%", .malformed),
        ("state=s&code=c%2", .malformed),
        ("state=s&code=c%zz", .malformed),
        ("state=s%zz&code=c", .malformed),
        ("state=s&code=c&%zz=1", .malformed),
        ("state=s&code=c%0A", .malformed),
        ("state=s&code=%C3%A9", .malformed),
        ("state=%00&code=c", .malformed),
        ("state=s&code=c&iss=", .malformed),
        ("state=s&code=c&iss=%7F", .malformed),
        ("state=s&error=e%0Ae", .malformed),
        ("state=s&code=c d", .malformed),
        ("state=s&code=c\u{E9}", .malformed),
        ("state=s&code=c#x", .malformed),
        ("state=s&code=c&x=" + String(repeating: "x", count: 16 * 1024), .tooLong),
    ])
    func `a query that two parsers could read differently is refused`(
        query: String,
        code: AuthorizationResponseFault.Code
    ) {
        let fault = #expect(throws: AuthorizationResponseFault.self) { try AuthorizationResponse.read(query: query) }
        #expect(fault?.code == code)
    }

    @Test(arguments: [
        "state=s&code=c&x=%zz", "&&state=s&&code=c&", "state=s&code=c&error_description=a&error_description=b",
        "state=s&code=c&x", "state=s&code=c&=", "state=s&code=c&error=",
    ])
    func `what does not count is ignored`(query: String) throws {
        let response = try AuthorizationResponse.read(query: query)
        #expect(response.result == .code(Secret("c")))
    }

    @Test(arguments: [
        "http://127.0.0.1:4711/callback?state=s&code=c", "  http://127.0.0.1:4711/callback?state=s&code=c\r\n",
        "\"http://127.0.0.1:4711/callback?state=s&code=c\"", "'http://127.0.0.1:4711/callback?state=s&code=c#_=_'",
        "<http://127.0.0.1:4711/callback?state=s&code=c#>",
        "\u{201C}http://127.0.0.1:4711/callback?state=s&code=c\u{201D} ",
    ])
    func `a pasted address is taken apart`(address: String) throws {
        let parts = try AuthorizationResponse.split(address: address)
        #expect(parts.redirectURI == "http://127.0.0.1:4711/callback")
        #expect(parts.query == "state=s&code=c")
    }

    @Test(arguments: [
        ("", AuthorizationResponseFault.Code.notAnAddress),
        ("canary", .notAnAddress),
        ("state=canary&code=canary", .notAnAddress),
        ("?state=canary", .notAnAddress),
        ("/callback?state=canary", .notAnAddress),
        ("ftp://canary/?x", .notAnAddress),
        ("https://?state=canary", .notAnAddress),
        ("https://user:canary@a.example/?x=1", .notAnAddress),
        ("https://a.example/can\nary?x=1", .notAnAddress),
        ("https://a.example/canary", .noQuery),
        ("https://a.example/canary?", .noQuery),
        ("https://a.example/canary#code=canary&state=s", .noQuery),
        ("https://a.example/canary#?code=canary", .noQuery),
        ("https://a.example/?" + String(repeating: "canary", count: 3 * 1024), .tooLong),
    ])
    func `what is no answer to a sign-in is refused, and nothing of it is shown`(
        address: String,
        code: AuthorizationResponseFault.Code
    ) {
        let fault = #expect(throws: AuthorizationResponseFault.self) {
            try AuthorizationResponse.split(address: address)
        }
        #expect(fault?.code == code)
        #expect(fault?.message.contains("canary") == false)
    }

    @Test func `no secret of a response is shown`() throws {
        let response = try AuthorizationResponse.read(query: "state=canary-1&code=canary-2")
        var text = "\(response)"
        dump(response, to: &text)
        #expect(!text.contains("canary"))
    }
}
