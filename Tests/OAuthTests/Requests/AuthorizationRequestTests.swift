import OAuth
import Testing
import TokenModel

@Suite struct AuthorizationRequestTests {
    private static func request(
        scopes: [String] = ["openid", "read"],
        nonce: String? = "n-1",
        prompt: String? = "consent",
        extra: [String: String] = [:]
    ) -> AuthorizationRequest {
        AuthorizationRequest(
            redirectURI: "http://127.0.0.1:4711/callback",
            scopes: scopes,
            state: Secret("s/1"),
            nonce: nonce,
            challenge: "c-1",
            prompt: prompt,
            extra: extra
        )
    }

    private static let query =
        "client_id=my%20app&response_type=code&redirect_uri=http%3A%2F%2F127.0.0.1%3A4711%2Fcallback"
        + "&scope=openid%20read&state=s%2F1&nonce=n-1&code_challenge=c-1&code_challenge_method=S256&prompt=consent"

    @Test(arguments: [
        ("https://login.acme.example/authorize", "?"),
        ("https://login.acme.example", "?"),
        ("https://login.acme.example/authorize?", ""),
        ("https://login.acme.example/authorize?tenant=a%20b", "&"),
        ("https://login.acme.example/authorize?tenant=a&", ""),
    ])
    func `the address has the parameters behind whatever query the endpoint has`(endpoint: String, separator: String)
        throws
    {
        let url = Self.request().url(at: try ProviderURL(endpoint), clientID: "my app")
        #expect(url == endpoint + separator + Self.query)
    }

    @Test func `what is not asked for is left out, and extra parameters come last in a fixed order`() throws {
        let request = Self.request(scopes: [], nonce: nil, prompt: nil, extra: ["b": "&=", "access_type": "offline"])
        let url = request.url(at: try ProviderURL("https://a.example"), clientID: "my-app")
        #expect(
            url == "https://a.example?client_id=my-app&response_type=code"
                + "&redirect_uri=http%3A%2F%2F127.0.0.1%3A4711%2Fcallback&state=s%2F1&code_challenge=c-1"
                + "&code_challenge_method=S256&access_type=offline&b=%26%3D"
        )
    }

    @Test(arguments: [
        "response_type", "response_mode", "client_id", "client_secret", "client_assertion", "client_assertion_type",
        "redirect_uri", "scope", "state", "nonce", "code_challenge", "code_challenge_method", "prompt", "request",
        "request_uri", "",
    ])
    func `a reserved parameter is told to be one, and never sent twice`(name: String) throws {
        #expect(AuthorizationRequest.isReserved(name))
        let request = Self.request(extra: [name: "canary", "hd": "acme.example"])
        let url = request.url(at: try ProviderURL("https://a.example"), clientID: "my-app")
        #expect(!url.contains("canary"))
        #expect(url.hasSuffix("&hd=acme.example"))
        let client = ClientRegistration(clientID: "my-app", authentication: .none)
        #expect(!FormRequest.pushedAuthorization(request, client: client).form.text.contains("canary"))
        let device = FormRequest.deviceAuthorization(scopes: [], extra: [name: "canary"], client: client)
        #expect(device.form.text == "client_id=my-app")
    }

    @Test(arguments: ["access_type", "audience", "resource", "login_hint", "acr_values", "State"])
    func `other parameters are not reserved`(name: String) {
        #expect(!AuthorizationRequest.isReserved(name))
    }

    @Test func `a pushed request is one form, and the address then only refers to it`() throws {
        let form =
            "response_type=code&redirect_uri=http%3A%2F%2F127.0.0.1%3A4711%2Fcallback&scope=openid+read&state=s%2F1"
            + "&nonce=n-1&code_challenge=c-1&code_challenge_method=S256&prompt=consent"
        func push(_ authentication: ClientRegistration.Authentication) -> FormRequest {
            FormRequest.pushedAuthorization(
                Self.request(),
                client: ClientRegistration(clientID: "my-app", authentication: authentication)
            )
        }
        #expect(push(.none).form.text == "client_id=my-app&" + form)
        #expect(push(.clientSecretPost(Secret("s"))).form.text == "client_id=my-app&client_secret=s&" + form)
        // RFC 9126 §2.1 wants the client named in the form, however it authenticates.
        #expect(push(.clientSecretBasic(Secret("s"))).form.text == "client_id=my-app&" + form)
        #expect(push(.clientSecretBasic(Secret("s"))).authorization?.text == "Basic bXktYXBwOnM=")

        let answer = ProviderResponse(
            status: 201,
            body: Secret(#"{"request_uri":"urn:x:1&2","expires_in":60}"#),
            bodyEnd: .proven
        )
        let url = AuthorizationRequest.url(
            at: try ProviderURL("https://a.example/authorize?t=1"),
            clientID: "my-app",
            pushed: try PushedAuthorization(answer)
        )
        #expect(url == "https://a.example/authorize?t=1&client_id=my-app&request_uri=urn%3Ax%3A1%262")
    }

    @Test func `a code is redeemed with its verifier and its redirect URI`() throws {
        let request = FormRequest.authorizationCode(
            Secret("c/1"),
            redirectURI: "http://127.0.0.1:4711/callback",
            verifier: Secret("v~1"),
            parameters: try TokenParameters(["audience": "a", "redirect_uri": "https://canary.example"]),
            client: ClientRegistration(clientID: "my-app", authentication: .clientSecretPost(Secret("s")))
        )
        #expect(
            request.form.text
                == "grant_type=authorization_code&code=c%2F1&redirect_uri=http%3A%2F%2F127.0.0.1%3A4711%2Fcallback"
                + "&code_verifier=v%7E1&client_id=my-app&client_secret=s&audience=a"
        )
    }

    @Test func `a device asks for a code, and then for its tokens`() throws {
        let client = ClientRegistration(clientID: "my-app", authentication: .none)
        let start = FormRequest.deviceAuthorization(
            scopes: ["read", "write"],
            extra: ["audience": "a"],
            client: client
        )
        #expect(start.form.text == "scope=read+write&client_id=my-app&audience=a")
        let poll = FormRequest.deviceCode(Secret("d/1"), parameters: .none, client: client)
        #expect(
            poll.form.text
                == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=d%2F1&client_id=my-app"
        )
    }
}
