internal import Synchronization
internal import TextCoding

/// The endpoints below `/api/`. They require a live access token, then do what the path says.
struct APIEndpoints {
    let service: MockService

    func reply(to exchange: Exchange) async throws -> Reply {
        let head = exchange.head
        let tokens = Self.tokens(head)
        let fault = self.service.state.withLock {
            $0.apiRequestArrived(tokens: tokens, path: head.path, at: head.at)
        }
        return try await FaultRule.reply(under: fault) {
            self.service.state.withLock { $0.count(APIOutcome.fault) }
        } process: {
            let outcome = self.service.state.withLock { state in
                let outcome = state.evaluate(tokens: tokens, at: .now)
                state.count(outcome)
                return outcome
            }
            guard case .ok(let account) = outcome else { return try Self.unauthorized() }
            return try await self.respond(to: exchange, account: account)
        }
    }

    private func respond(to exchange: Exchange, account: String) async throws -> MockResponse {
        let head = exchange.head
        let segments = head.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst(2)
        let parameter = segments.count == 2 ? segments.last.flatMap { Int($0) } : nil
        switch (segments.first, parameter) {
        case ("echo", _):
            return try .json(try await Echo.of(exchange, account: account))
        case ("status", .some(200...599)):
            return try .json(["status": parameter], status: parameter ?? 200)
        case ("bytes", .some(0...)):
            return MockResponse(
                status: 200,
                fields: [HeaderField("Content-Type", "application/octet-stream")],
                body: .pattern(count: parameter ?? 0)
            )
        case ("delay", .some(0...)):
            try await Task.sleep(for: .milliseconds(parameter ?? 0))
            return try .json(["delayed_ms": parameter])
        case ("stream", .some(0...)):
            return try Self.stream(head, count: parameter ?? 0)
        default:
            return try .notFound()
        }
    }

    /// The length is not known beforehand, so a `HEAD` request can't get a correct response.
    private static func stream(_ head: ReceivedHead, count: Int) throws -> MockResponse {
        guard head.method != "HEAD" else { return try .methodNotAllowed(allow: "GET, POST") }
        do {
            let every = try FormBody(head.query)["every"] ?? "100ms"
            guard let interval = DurationText.parse(every) else {
                throw GrantRefusal(.invalidRequest, #"every is not a duration like "100ms" or "3s""#)
            }
            return MockResponse(
                status: 200,
                fields: [HeaderField("Content-Type", "text/event-stream"), HeaderField("Cache-Control", "no-cache")],
                body: .events(count: count, every: interval)
            )
        } catch let refusal as GrantRefusal {
            return try .refusal(refusal)
        }
    }

    private static func unauthorized() throws -> MockResponse {
        try .json(
            ["error": "invalid_token"],
            status: 401,
            fields: [HeaderField("WWW-Authenticate", #"Bearer error="invalid_token""#)]
        )
    }

    /// The bearer tokens of the `Authorization` fields (RFC 6750 section 2.1). Fields of another scheme are ignored.
    private static func tokens(_ head: ReceivedHead) -> [String] {
        head.values("Authorization").compactMap { value in
            let parts = value.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
            return String(parts[1])
        }
    }
}
