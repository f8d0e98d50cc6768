internal import Synchronization
internal import TokenModel

/// `POST /oauth/par`: pushed authorization requests (RFC 9126).
struct PushedRequestEndpoint {
    let service: MockService

    /// Checks the client and its request as `/oauth/authorize` does, and keeps the request for one use.
    func respond(to exchange: Exchange) async throws -> MockResponse {
        let form = try await ClientForm.read(exchange)
        let requestURI = self.service.mint.opaqueToken("urn:ietf:params:oauth:request_uri:mpr")
        do {
            return try self.service.state.withLock { state in
                state.count(\.par)
                let form = try form.get()
                try form.authenticate()
                guard form.fields["request_uri"] == nil else {
                    throw GrantRefusal(.invalidRequest, "a pushed request must not have a request_uri")
                }
                try AuthorizationParameters(form.fields).requireAnswerable()
                state.pushedRequests.add(form.fields, under: requestURI, at: .now)
                return try .json(
                    PushedResponse(
                        request_uri: requestURI,
                        expires_in: state.pushedRequests.lifetime.components.seconds
                    ),
                    status: 201
                )
            }
        } catch let refusal as GrantRefusal {
            return try .refusal(refusal)
        }
    }

    private struct PushedResponse: Encodable {
        let request_uri: String
        let expires_in: Int64
    }
}
