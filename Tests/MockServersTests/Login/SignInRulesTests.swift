import MockServers
import Testing

@Suite struct SignInRulesTests {
    func rules(_ json: String) throws(GrantRefusal) -> SignInRules {
        try JSONBody.decode(SignInRules.self, from: json.utf8)
    }

    @Test func `an empty object is a provider that approves`() throws {
        #expect(try self.rules("{}") == SignInRules())
    }

    @Test func `every rule can be set`() throws {
        var expected = SignInRules()
        expected.account = "bob"
        expected.subject = "248289761001"
        expected.error = "access_denied"
        expected.errorDescription = "<script>"
        expected.issuer = .missing
        expected.state = .wrong
        expected.scope = "openid read"
        expected.isRefreshable = false
        expected.idToken = .foreignKey
        expected.metadata.namesPAR = false
        expected.metadata.requiresPAR = true
        expected.metadata.promisesIssuer = false
        expected.metadata.namesDevice = false
        expected.asksForConsent = true
        expected.deviceInterval = .seconds(5)
        expected.deviceLifetime = .seconds(30)
        expected.slowDowns = 2
        expected.tokenDelay = .seconds(3)

        let read = try self.rules(
            #"""
            {"account": "bob", "subject": "248289761001", "error": "access_denied", "error_description": "<script>",
             "iss": "missing", "state": "wrong", "scope": "openid read", "refresh_token": false,
             "id_token": "foreign_key", "consent": true, "device_interval": 5, "device_expires_in": 30, "slow_down": 2,
             "metadata": {"par": false, "par_required": true, "iss": false, "device": false}, "token_delay": "3s"}
            """#
        )

        #expect(read == expected)
    }

    @Test(arguments: [
        (#"{"acount": "bob"}"#, "acount"),
        (#"{"account": ""}"#, "account"),
        (#"{"account": 1}"#, "account"),
        (#"{"error": "a\"b"}"#, "error"),
        (#"{"iss": "none"}"#, "iss"),
        (#"{"state": true}"#, "state"),
        (#"{"id_token": "broken"}"#, "id_token"),
        (#"{"refresh_token": "no"}"#, "refresh_token"),
        (#"{"metadata": {"pars": true}}"#, "metadata.pars"),
        (#"{"metadata": {"par": 1}}"#, "metadata.par"),
        (#"{"device_interval": -1}"#, "device_interval"),
        (#"{"device_expires_in": "30s"}"#, "device_expires_in"),
        (#"{"slow_down": 86401}"#, "slow_down"),
        (#"{"token_delay": 3}"#, "token_delay"),
        (#"{"token_delay": "3"}"#, "token_delay"),
        ("", "the body is not JSON"),
    ])
    func `an invalid rule is refused with the place of the mistake`(json: String, place: String) throws {
        let refusal = try #require(throws: GrantRefusal.self) { try self.rules(json) }
        #expect(refusal.message.hasPrefix("\(place)") && !refusal.message.hasPrefix("\(place)."), "\(refusal.message)")
    }
}
