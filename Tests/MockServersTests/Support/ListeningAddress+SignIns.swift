import MockServers
import Testing

extension ListeningAddress {
    /// Replaces how sign-ins behave.
    func signInRules(_ rules: String) async throws {
        let response = try await self.request("PUT", "/_control/sign_in", body: rules)
        #expect(response.status == 200, "\(response.text)")
    }

    /// A query or a form that the provider approves.
    static let authorization =
        "client_id=mock-client&response_type=code&redirect_uri=http://127.0.0.1:1/cb&state=s1"

    /// Opens the authorization page and returns the parameters of the redirection that answers it.
    func authorize(_ query: String = "\(Self.authorization)&scope=openid") async throws -> FormBody {
        try Self.redirection(try await self.request("GET", "/oauth/authorize?\(query)"))
    }

    /// The parameters of a redirection to the client.
    static func redirection(_ response: WireResponse) throws -> FormBody {
        #expect(response.status == 302, "\(response.text)")
        let location = try #require(response.value("Location"))
        #expect(location.hasPrefix("http://127.0.0.1:1/cb?"))
        return try FormBody(location.drop { $0 != "?" }.dropFirst())
    }

    /// Exchanges the code in the parameters of a redirection.
    func redeem(_ redirection: FormBody) async throws -> WireResponse {
        let code = try redirection.require("code")
        return try await self.post(
            "/oauth/token",
            "grant_type=authorization_code&redirect_uri=http://127.0.0.1:1/cb&code=\(code)"
        )
    }

    /// Starts a device sign-in.
    func startDevice(_ form: String = "scope=openid") async throws -> DeviceReply {
        try await self.post("/oauth/device_authorization", form).json()
    }

    /// Approves a device sign-in as its page does.
    func approve(_ device: DeviceReply) async throws {
        #expect(try await self.request("GET", "/oauth/device?user_code=\(device.user_code)").status == 200)
    }

    /// Polls for the tokens of a device sign-in.
    func poll(_ device: DeviceReply) async throws -> WireResponse {
        try await self.post(
            "/oauth/token",
            "grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code=\(device.device_code)"
        )
    }
}

/// The answer to a device authorization request.
struct DeviceReply: Decodable {
    let device_code: String
    let user_code: String
    let interval: Int
    let expires_in: Int
}
