internal import HummingbirdCore
internal import Synchronization

/// The provider, the API and the control surface behind one listener. It finds the endpoint for a request and sends
/// the endpoint's response.
final class MockService: Sendable {
    /// All mutable state.
    let state: Mutex<MockState>

    /// Makes tokens.
    let mint: any TokenMint

    /// Makes ID tokens, which are JWTs even if access tokens are not.
    let idTokens: IDTokenMint

    /// The key whose public half `/oauth/jwks` serves.
    let key: SigningKey

    /// `http` or `https`, for the issuer URL.
    let scheme: String

    init(options: MockOptions) {
        self.key = SigningKey()
        self.idTokens = IDTokenMint(key: self.key)
        self.mint = options.opaqueTokens ? OpaqueTokenMint() : SignedTokenMint(key: self.key)
        self.state = Mutex(MockState(rules: options.rules))
        self.scheme = options.scheme
    }

    /// Processes one request and sends the response. Throws when the connection must not be used further.
    @concurrent func respond(
        to request: Request,
        with writer: consuming ResponseWriter,
        on connection: WireConnection
    ) async throws {
        let head = try connection.nextHead()
        let reply = try await self.reply(to: Exchange(head: head, body: request.body, on: connection))
        // A client that never received `100 Continue` may or may not send its body. We can't tell where the next
        // request starts.
        let bodyIsInDoubt = head.expectsContinue && !connection.didSendContinue
        let wire = MockResponseWriter(head: head, connection: connection)
        switch reply {
        case .whole(let response):
            try await wire.write(response, half: false, closes: head.closes || bodyIsInDoubt, with: writer)
            guard bodyIsInDoubt else { return }
            try await connection.flush()
        case .half(let response):
            try await wire.write(response, half: true, closes: true, with: writer)
            try await connection.flush()
        case .nothing:
            break
        }
        connection.hangUp()
        throw WireFault.hungUp
    }

    private func reply(to exchange: Exchange) async throws -> Reply {
        let head = exchange.head
        switch head.path {
        case "/oauth/token":
            guard head.method == "POST" else { return .whole(try .methodNotAllowed(allow: "POST")) }
            return try await TokenEndpoint(service: self).reply(to: exchange)
        case "/oauth/revoke":
            guard head.method == "POST" else { return .whole(try .methodNotAllowed(allow: "POST")) }
            return try await RevocationEndpoint(service: self).reply(to: exchange)
        case let path where path.hasPrefix("/oauth/") || path.hasPrefix("/.well-known/"):
            return .whole(try await ProviderEndpoints(service: self).respond(to: exchange))
        case let path where path.hasPrefix("/api/"):
            return try await APIEndpoints(service: self).reply(to: exchange)
        case let path where path.hasPrefix("/_control/"):
            return .whole(try await ControlEndpoints(service: self).respond(to: exchange))
        default:
            return .whole(try .notFound())
        }
    }

    /// The issuer URL as the client of this request sees it.
    func issuer(_ head: ReceivedHead) -> String {
        "\(self.scheme)://\(head.values("Host").first ?? "localhost")"
    }
}
