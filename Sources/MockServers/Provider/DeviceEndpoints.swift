internal import NIOCore
internal import Synchronization

/// `POST /oauth/device_authorization`, and `GET /oauth/device?user_code=…`, which stands for the approval by a person.
/// Without a user code `/oauth/device` asks for it.
struct DeviceEndpoints {
    let service: MockService

    /// Issues a device code and a user code (RFC 8628 section 3.2) for the account that `account` names, otherwise for
    /// `mock-user`.
    func start(_ exchange: Exchange) async throws -> MockResponse {
        let form = try await ClientForm.read(exchange)
        let rules = self.service.state.withLock { state in
            state.count(\.device)
            return state.signInRules
        }
        do throws(GrantRefusal) {
            let form = try form.get()
            try form.authenticate()
            let request = DeviceCodes.Request(
                account: form.fields["account"] ?? AuthorizationParameters.defaultAccount,
                scope: form.fields["scope"]
            )
            let deviceCode = self.service.mint.opaqueToken("mdc")
            let userCode = Self.userCode()
            self.service.state.withLock {
                $0.deviceCodes.start(
                    request,
                    deviceCode: deviceCode,
                    userCode: userCode,
                    interval: rules.deviceInterval,
                    lifetime: rules.deviceLifetime,
                    at: .now
                )
            }
            return try Self.json(
                StartResponse(
                    device_code: deviceCode,
                    user_code: userCode,
                    page: "\(self.service.issuer(exchange.head))/oauth/device",
                    rules
                )
            )
        } catch {
            return try .refusal(error)
        }
    }

    /// Approves the user code in the query, for the account that the rules name, otherwise for that of the request.
    func approve(_ head: ReceivedHead) -> MockResponse {
        let query = try? FormBody(head.query)
        if let query, query["user_code"] == nil {
            return UserCodePage().response
        }
        let userCode = query?["user_code"]
        let isApproved = self.service.state.withLock { state in
            let account = state.signInRules.account
            return userCode.map { state.deviceCodes.approve(userCode: $0, as: account, at: .now) } ?? false
        }
        return MockResponse(
            status: isApproved ? 200 : 400,
            fields: [HeaderField("Content-Type", "text/plain; charset=utf-8")],
            body: .whole(ByteBuffer(string: isApproved ? "The device is approved.\n" : "There is no such user_code.\n"))
        )
    }

    private static func json(_ value: StartResponse) throws(GrantRefusal) -> MockResponse {
        do {
            return try .json(value)
        } catch {
            throw GrantRefusal(.serverError, "the answer could not be encoded")
        }
    }

    /// Eight consonants: they form no words and no two look alike (RFC 8628 section 6.1).
    private static func userCode() -> String {
        var generator = SystemRandomNumberGenerator()
        let letters = (0..<8).compactMap { _ in "BCDFGHJKLMNPQRSTVWXZ".randomElement(using: &generator) }
        return "\(String(letters.prefix(4)))-\(String(letters.suffix(4)))"
    }

    private struct StartResponse: Encodable {
        let device_code: String
        let user_code: String
        let verification_uri: String
        let verification_uri_complete: String
        let expires_in: Int64
        let interval: Int64

        init(device_code: String, user_code: String, page: String, _ rules: SignInRules) {
            self.device_code = device_code
            self.user_code = user_code
            self.verification_uri = page
            self.verification_uri_complete = "\(page)?user_code=\(user_code)"
            self.expires_in = rules.deviceLifetime.components.seconds
            self.interval = rules.deviceInterval.components.seconds
        }
    }
}
