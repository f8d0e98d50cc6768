import OAuth
import Testing
import TokenModel

@Suite struct FormRequestTests {
    private static func refresh(
        _ authentication: ClientRegistration.Authentication,
        id: String = "my-app",
        scopes: [String] = [],
        parameters: [String: String] = [:]
    ) throws -> FormRequest {
        FormRequest.refresh(
            Secret("R/1+ é"),
            scopes: scopes,
            parameters: try TokenParameters(parameters),
            client: ClientRegistration(clientID: id, authentication: authentication)
        )
    }

    @Test func `a public client names itself in the form`() throws {
        let request = try Self.refresh(.none)
        #expect(request.authorization == nil)
        #expect(request.form.text == "grant_type=refresh_token&refresh_token=R%2F1%2B+%C3%A9&client_id=my-app")
    }

    @Test func `client_secret_post puts the id and the secret into the form`() throws {
        let request = try Self.refresh(.clientSecretPost(Secret("s&=")), scopes: ["read", "write"])
        #expect(request.authorization == nil)
        #expect(
            request.form.text
                == "grant_type=refresh_token&refresh_token=R%2F1%2B+%C3%A9&scope=read+write&client_id=my-app"
                + "&client_secret=s%26%3D"
        )
    }

    @Test func `client_secret_basic encodes the id and the secret before it joins them`() throws {
        let request = try Self.refresh(.clientSecretBasic(Secret("s:ecret%/")), id: "my app")
        // my+app:s%3Aecret%25%2F
        #expect(request.authorization?.text == "Basic bXkrYXBwOnMlM0FlY3JldCUyNSUyRg==")
        #expect(request.form.text == "grant_type=refresh_token&refresh_token=R%2F1%2B+%C3%A9")
    }

    @Test(arguments: [
        ("a", "Basic YTpi"), ("ab", "Basic YWI6Yg=="), ("abc", "Basic YWJjOmI="),
    ])
    func `credentials of any length are padded`(id: String, field: String) throws {
        #expect(try Self.refresh(.clientSecretBasic(Secret("b")), id: id).authorization?.text == field)
    }

    @Test func `configured parameters are added, always in the same order`() throws {
        let request = try Self.refresh(.none, parameters: ["resource": "r", "audience": "https://api.acme.example"])
        #expect(
            request.form.text.hasSuffix("&client_id=my-app&audience=https%3A%2F%2Fapi.acme.example&resource=r")
        )
    }

    @Test(arguments: ["grant_type", "refresh_token", "scope", "client_id", "client_secret", "client_assertion", ""])
    func `reserved parameters can't be added`(name: String) {
        let refusal = #expect(throws: TokenParameters.Reserved.self) {
            try TokenParameters([name: "x", "audience": "y"])
        }
        #expect(refusal?.name == name)
    }

    @Test func `a mint names no token, and carries scopes and parameters`() throws {
        let request = FormRequest.clientCredentials(
            scopes: ["read", "write"],
            parameters: try TokenParameters(["audience": "a"]),
            client: ClientRegistration(clientID: "my-app", authentication: .clientSecretPost(Secret("s")))
        )
        #expect(
            request.form.text
                == "grant_type=client_credentials&scope=read+write&client_id=my-app&client_secret=s&audience=a"
        )
        #expect(request.authorization == nil)
    }

    @Test func `a client assertion goes into the form with its type, a certificate client sends only its id`() throws {
        let type = "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"
        let signed = try Self.refresh(.clientAssertion(Secret("e.y.J")))
        #expect(signed.authorization == nil)
        #expect(
            signed.form.text.hasSuffix("&client_id=my-app&client_assertion_type=\(type)&client_assertion=e.y.J")
        )
        #expect(try Self.refresh(.tlsClientAuth).form.text == (try Self.refresh(.none)).form.text)
    }

    @Test func `a sign-in carries the name, the password and the client's own proof`() throws {
        let request = FormRequest.password(
            Secret("p&w"),
            of: Secret("me@acme.example"),
            scopes: ["read"],
            parameters: try TokenParameters(["audience": "a"]),
            client: ClientRegistration(clientID: "my-app", authentication: .clientSecretPost(Secret("s")))
        )
        #expect(
            request.form.text
                == "grant_type=password&username=me%40acme.example&password=p%26w&scope=read"
                + "&client_id=my-app&client_secret=s&audience=a"
        )
    }

    @Test func `an assertion that is the grant needs no client authentication`() throws {
        func request(_ authentication: ClientRegistration.Authentication) -> FormRequest {
            .jwtBearer(
                Secret("e.y.J"),
                scopes: [],
                parameters: .none,
                client: ClientRegistration(clientID: "my-app", authentication: authentication)
            )
        }
        let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=e.y.J"
        #expect(request(.none).form.text == grant)
        #expect(request(.tlsClientAuth).form.text == grant + "&client_id=my-app")
        #expect(request(.clientSecretBasic(Secret("s"))).authorization != nil)
    }

    @Test func `a revocation names the token and its kind`() {
        let client = ClientRegistration(clientID: "my-app", authentication: .clientSecretPost(Secret("s")))
        let refresh = FormRequest.revocation(of: Secret("R 1"), kind: .refreshToken, client: client)
        let access = FormRequest.revocation(of: Secret("A1"), kind: .accessToken, client: client)

        #expect(refresh.form.text == "token=R+1&token_type_hint=refresh_token&client_id=my-app&client_secret=s")
        #expect(access.form.text == "token=A1&token_type_hint=access_token&client_id=my-app&client_secret=s")
    }

    @Test func `a request shows none of its secrets`() throws {
        let request = try Self.refresh(.clientSecretBasic(Secret("canary")))
        var dumped = ""
        dump(request, to: &dumped)
        #expect(!dumped.contains("canary"))
        #expect(!dumped.contains("R%2F1"))
    }
}
