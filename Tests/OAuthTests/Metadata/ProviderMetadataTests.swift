import OAuth
import Testing
import TokenModel

@Suite struct ProviderMetadataTests {
    @Test(arguments: [
        (
            "https://login.acme.example",
            [
                "https://login.acme.example/.well-known/oauth-authorization-server",
                "https://login.acme.example/.well-known/openid-configuration",
            ]
        ),
        (
            "https://login.acme.example/",
            [
                "https://login.acme.example/.well-known/oauth-authorization-server",
                "https://login.acme.example/.well-known/openid-configuration",
            ]
        ),
        (
            "https://login.acme.example:8443/realms/one",
            [
                "https://login.acme.example:8443/.well-known/oauth-authorization-server/realms/one",
                "https://login.acme.example:8443/realms/one/.well-known/openid-configuration",
            ]
        ),
    ])
    func `an issuer has two well-known metadata addresses`(issuer: String, addresses: [String]) throws {
        #expect(try ProviderIssuer(issuer).metadataAddresses == addresses)
    }

    @Test func `an issuer with a query is refused`() {
        #expect(throws: ProviderURLError.self) { try ProviderIssuer("https://login.acme.example/?x=1") }
    }

    private static let issuer = "https://login.acme.example"

    private static func read(
        _ body: String,
        status: Int = 200,
        encoding: String? = nil,
        issuer: String = Self.issuer,
        allowCleartext: Bool = false
    ) throws -> ProviderMetadata {
        let answer = ProviderResponse(status: status, contentEncoding: encoding, body: Secret(body), bodyEnd: .proven)
        return try ProviderMetadata(answer, of: ProviderIssuer(issuer), allowCleartext: allowCleartext)
    }

    @Test func `the endpoints are read from the document`() throws {
        let metadata = try Self.read(
            """
            {"issuer": "https://login.acme.example", "token_endpoint": "https://tokens.acme.example/t",
             "revocation_endpoint": "https://tokens.acme.example/r",
             "token_endpoint_auth_methods_supported": ["client_secret_basic", "private_key_jwt"]}
            """
        )
        #expect(metadata.tokenEndpoint.text == "https://tokens.acme.example/t")
        #expect(metadata.revocationEndpoint?.text == "https://tokens.acme.example/r")
    }

    @Test func `a document without a revocation endpoint is accepted, and has none`() throws {
        let body = #"{"issuer":"https://login.acme.example","token_endpoint":"https://login.acme.example/t"}"#
        #expect(try Self.read(body).revocationEndpoint == nil)
    }

    @Test(arguments: [
        (
            #"{"issuer":"https://login.acme.example/","token_endpoint":"https://a.example/t"}"#,
            MetadataError.issuerDiffers
        ),
        (#"{"issuer":"https://LOGIN.acme.example","token_endpoint":"https://a.example/t"}"#, .issuerDiffers),
        (#"{"issuer":"https://evil.example","token_endpoint":"https://a.example/t"}"#, .issuerDiffers),
        (#"{"token_endpoint":"https://a.example/t"}"#, .issuerDiffers),
        (#"{"issuer":"https://login.acme.example"}"#, .tokenEndpointMissing),
        (#"{"issuer":"https://login.acme.example","token_endpoint":7}"#, .tokenEndpointMissing),
        (#"{"issuer":"https://login.acme.example","token_endpoint":"http://a.example/t"}"#, .endpointRefused),
        (#"{"issuer":"https://login.acme.example","token_endpoint":"http://127.0.0.1/t"}"#, .endpointRefused),
        (#"{"issuer":"https://login.acme.example","token_endpoint":"/t"}"#, .endpointRefused),
        (
            #"{"issuer":"https://login.acme.example","token_endpoint":"https://a.example/t","revocation_endpoint":"http://a.example/r"}"#,
            .endpointRefused
        ),
        (#"{"issuer":"https://login.acme.example","issuer":"https://login.acme.example"}"#, .unreadable),
        ("<html>", .unreadable), ("", .unreadable), ("[]", .unreadable),
    ])
    func `a document that can't be trusted is refused`(body: String, error: MetadataError) {
        #expect(throws: error) { try Self.read(body) }
    }

    @Test func `only a complete, uncompressed 200 is a document`() {
        let body = #"{"issuer":"https://login.acme.example","token_endpoint":"https://login.acme.example/t"}"#
        #expect(throws: MetadataError.notFound) { try Self.read(body, status: 404) }
        #expect(throws: MetadataError.notFound) { try Self.read(body, status: 302) }
        #expect(throws: MetadataError.unreadable) { try Self.read(body, encoding: "gzip") }
        #expect(throws: MetadataError.unreadable) {
            try Self.read(body.dropLast() + #","x":""# + String(repeating: "y", count: 65_536) + #""}"#)
        }
    }

    @Test func `a local issuer may name local cleartext endpoints, and any issuer may if cleartext is allowed`()
        throws
    {
        let local = #"{"issuer":"http://127.0.0.1:9090","token_endpoint":"http://127.0.0.1:9090/t"}"#
        #expect(try !Self.read(local, issuer: "http://127.0.0.1:9090").tokenEndpoint.isEncrypted)

        let elsewhere = #"{"issuer":"https://login.acme.example","token_endpoint":"http://inside.example/t"}"#
        #expect(try !Self.read(elsewhere, allowCleartext: true).tokenEndpoint.isEncrypted)
    }
}
