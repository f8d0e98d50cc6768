import OAuth
import Testing
import TokenModel

/// What a metadata document says about sign-ins.
@Suite struct SignInMetadataTests {
    private static func read(
        _ fields: String,
        issuer: String = "https://login.acme.example",
        allowCleartext: Bool = false
    ) throws -> ProviderMetadata {
        let body = #"{"issuer":"\#(issuer)","token_endpoint":"\#(issuer)/t"\#(fields.isEmpty ? "" : ",")\#(fields)}"#
        return try ProviderMetadata(
            ProviderResponse(status: 200, body: Secret(body), bodyEnd: .proven),
            of: ProviderIssuer(issuer),
            allowCleartext: allowCleartext
        )
    }

    @Test func `the endpoints of sign-ins are read`() throws {
        let metadata = try Self.read(
            """
            "authorization_endpoint": "https://a.example/authorize?t=1",
            "device_authorization_endpoint": "https://a.example/device",
            "pushed_authorization_request_endpoint": "https://a.example/par",
            "jwks_uri": "https://a.example/jwks",
            "authorization_response_iss_parameter_supported": true,
            "code_challenge_methods_supported": ["plain", "S256"]
            """
        )
        #expect(metadata.authorizationEndpoint?.text == "https://a.example/authorize?t=1")
        #expect(metadata.deviceAuthorizationEndpoint?.text == "https://a.example/device")
        #expect(metadata.pushedAuthorizationRequestEndpoint?.text == "https://a.example/par")
        #expect(metadata.keySetURL?.text == "https://a.example/jwks")
        #expect(metadata.promisesIssuer)
        #expect(!metadata.refusesS256)
    }

    @Test func `a document without them has none`() throws {
        let metadata = try Self.read("")
        let bare = ProviderMetadata(
            tokenEndpoint: try ProviderURL("https://login.acme.example/t"),
            revocationEndpoint: nil
        )
        #expect(metadata == bare)
        #expect(metadata.authorizationEndpoint == nil)
        #expect(!metadata.promisesIssuer)
        #expect(!metadata.refusesS256)
    }

    @Test(arguments: [
        "authorization_endpoint", "device_authorization_endpoint", "pushed_authorization_request_endpoint", "jwks_uri",
    ])
    func `an endpoint of sign-ins that can't be used counts as missing, and stops no refresh`(name: String) throws {
        for value in [
            #""http://a.example/x""#, #""http://127.0.0.1/x""#, #""/x""#, #""https://a.example/x#y""#, "7", "null",
            "{}",
            #""""#, #""https://a.example/x","\#(name)":"https://b.example/x""#,
        ] {
            let metadata = try Self.read(#""\#(name)":\#(value)"#)
            #expect(metadata.tokenEndpoint.text == "https://login.acme.example/t")
            #expect(metadata.authorizationEndpoint == nil)
            #expect(metadata.deviceAuthorizationEndpoint == nil)
            #expect(metadata.pushedAuthorizationRequestEndpoint == nil)
            #expect(metadata.keySetURL == nil)
        }
    }

    @Test func `a browser is sent to no cleartext address, even if the gateway may use one`() throws {
        let fields = #""authorization_endpoint":"http://inside.example/a","jwks_uri":"http://inside.example/k""#
        let metadata = try Self.read(fields, allowCleartext: true)
        #expect(metadata.authorizationEndpoint == nil)
        #expect(metadata.keySetURL?.text == "http://inside.example/k")
        let local = try Self.read(
            #""authorization_endpoint":"http://127.0.0.1:9090/a""#,
            issuer: "http://127.0.0.1:9090"
        )
        #expect(local.authorizationEndpoint?.text == "http://127.0.0.1:9090/a")
    }

    @Test(arguments: [
        (#"["S256"]"#, false), (#"["plain"]"#, true), ("[]", true), (#"["s256"]"#, true), (#""plain""#, false),
        (#"["plain",7]"#, false), ("null", false), (#"["plain"],"code_challenge_methods_supported":["S256"]"#, false),
    ])
    func `a provider that lists its challenge methods without S256 refuses it`(methods: String, refuses: Bool) throws {
        #expect(try Self.read(#""code_challenge_methods_supported":\#(methods)"#).refusesS256 == refuses)
    }

    @Test(arguments: ["false", "null", "1", #""true""#])
    func `only true is a promise of the issuer`(value: String) throws {
        #expect(try !Self.read(#""authorization_response_iss_parameter_supported":\#(value)"#).promisesIssuer)
    }
}
