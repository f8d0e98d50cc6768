import MockServers
import NIOSSL
import Testing

extension ListeningAddress {
    var authority: String { "\(self.host):\(self.port)" }

    /// Sends one request on a connection of its own. The test fails if no complete response comes.
    func request(
        _ method: String,
        _ target: String,
        _ fields: [(String, String)] = [],
        body: String? = nil
    ) async throws -> WireResponse {
        try await Wire.open(self) { wire in
            try await wire.send(self.message(method, target, fields, body: body))
            return try #require(await wire.response(headRequest: method == "HEAD"))
        }
    }

    /// The bytes of one request.
    func message(_ method: String, _ target: String, _ fields: [(String, String)] = [], body: String? = nil) -> String {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: \(self.authority)\r\n"
        for (name, value) in fields {
            head += "\(name): \(value)\r\n"
        }
        if let body {
            head += "Content-Length: \(body.utf8.count)\r\n"
        }
        return head + "\r\n" + (body ?? "")
    }

    /// Posts a form as the registered client, with its secret in the form.
    func post(_ path: String, _ form: String) async throws -> WireResponse {
        try await self.request("POST", path, Self.formFields, body: "\(Self.client)&\(form)")
    }

    static let client = "client_id=mock-client&client_secret=mock-secret"
    static let formFields = [("Content-Type", "application/x-www-form-urlencoded")]

    /// Makes a grant through the control API, without a sign-in.
    func grant(_ account: String = "a0") async throws -> TokenReply {
        let response = try await self.request("POST", "/_control/grants", body: #"{"account": "\#(account)"}"#)
        return try response.json()
    }

    /// Sends a valid refresh request.
    func refresh(_ token: String?) async throws -> WireResponse {
        try await self.post("/oauth/token", "grant_type=refresh_token&refresh_token=\(token ?? "")")
    }

    /// Sends a request to the API.
    func api(_ path: String, token: String) async throws -> WireResponse {
        try await self.request("GET", path, [("Authorization", "Bearer \(token)")])
    }

    func faults(_ rules: String) async throws {
        let response = try await self.request("PUT", "/_control/faults", body: rules)
        #expect(response.status == 200, "\(response.text)")
    }

    func stats(trusting roots: [NIOSSLCertificate]? = nil) async throws -> MockStats {
        try await Wire.open(self, trusting: roots) { wire in
            try await wire.send(self.message("GET", "/_control/stats"))
            // `#require` would record an issue, but some tests only ask whether the server still runs.
            guard let response = await wire.response() else { throw ConnectionEndedEarly() }
            return try response.json()
        }
    }

    /// The connection ended before the response was complete.
    struct ConnectionEndedEarly: Error {}
}
