internal import NIOCore
internal import Synchronization

/// `POST /oauth/device_authorization`, and `GET /oauth/device?user_code=…`, which stands for the person who approves.
struct DeviceEndpoints {
    let service: MockService

    /// Puts a pair of codes out (RFC 8628 section 3.2) for the account that `account` names, else `mock-user`.
    func start(_ exchange: Exchange) async throws -> Answer {
        let form = try await ClientForm.read(exchange)
        do throws(GrantRefusal) {
            let form = try form.get()
            try form.authenticate()
            let request = DeviceCodeBook.Request(
                account: form.fields["account"] ?? AuthorizationEndpoint.defaultAccount,
                scope: form.fields["scope"]
            )
            let deviceCode = self.service.mint.opaqueToken("mdc")
            let userCode = Self.userCode()
            self.service.state.withLock {
                $0.deviceCodes.start(request, deviceCode: deviceCode, userCode: userCode, at: .now)
            }
            return try Self.json(
                StartAnswer(
                    device_code: deviceCode,
                    user_code: userCode,
                    page: "\(self.service.issuer(exchange.head))/oauth/device"
                )
            )
        } catch {
            return try .refusal(error)
        }
    }

    /// Approves the code in the query.
    func approve(_ head: ReceivedHead) throws -> Answer {
        let userCode = (try? FormBody(head.query))?["user_code"]
        let isApproved = self.service.state.withLock { state in
            userCode.map { state.deviceCodes.approve(userCode: $0, at: .now) } ?? false
        }
        return Answer(
            status: isApproved ? 200 : 400,
            fields: [HeaderField("Content-Type", "text/plain; charset=utf-8")],
            body: .whole(ByteBuffer(string: isApproved ? "The device is approved.\n" : "There is no such user_code.\n"))
        )
    }

    private static func json(_ value: StartAnswer) throws(GrantRefusal) -> Answer {
        do {
            return try .json(value)
        } catch {
            throw GrantRefusal(.serverError, "the answer could not be encoded")
        }
    }

    /// Eight consonants: no words, nothing to mix up (RFC 8628 section 6.1).
    private static func userCode() -> String {
        var generator = SystemRandomNumberGenerator()
        let letters = (0..<8).compactMap { _ in "BCDFGHJKLMNPQRSTVWXZ".randomElement(using: &generator) }
        return "\(String(letters.prefix(4)))-\(String(letters.suffix(4)))"
    }

    private struct StartAnswer: Encodable {
        let device_code: String
        let user_code: String
        let verification_uri: String
        let verification_uri_complete: String
        let expires_in = DeviceCodeBook.lifetime.components.seconds
        let interval = DeviceCodeBook.interval.components.seconds

        init(device_code: String, user_code: String, page: String) {
            self.device_code = device_code
            self.user_code = user_code
            self.verification_uri = page
            self.verification_uri_complete = "\(page)?user_code=\(user_code)"
        }
    }
}
