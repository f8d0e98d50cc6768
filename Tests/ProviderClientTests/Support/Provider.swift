import Logging
import NIOPosix
import OAuth
import ProviderClient
import TestKit
import TokenModel

/// 2026-11-19T12:00:00Z
let noon = WallTime(millisecondsSince1970: 1_795_089_600_000)

let client = ClientRegistration(clientID: "my-app", authentication: .clientSecretBasic(Secret("canary-client-secret")))

/// A canned response with its length.
func http(_ status: String, _ body: String, _ fields: String...) -> String {
    let lines = ["HTTP/1.1 \(status)", "Content-Type: application/json", "Content-Length: \(body.utf8.count)"] + fields
    return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
}

/// The reason with this code, or `noKnownReason` if there is none.
func reason(_ code: String) -> VerdictReason { VerdictReason(code) ?? .noKnownReason }

/// Runs `body` with a token endpoint client for named endpoints at `origin`, and shuts it down afterwards.
@discardableResult
func withEndpoint<Result>(
    at origin: String,
    timeout: Duration = .seconds(15),
    answerTimeout: Duration? = nil,
    trusting authority: String? = nil,
    revocationPath: String? = "/revoke",
    as registered: RegisteredClient = RegisteredClient(client),
    showing identity: TLSIdentity? = nil,
    log: RecordingLog = RecordingLog(),
    on group: MultiThreadedEventLoopGroup = .singleton,
    _ body: (HTTPTokenEndpoint) async throws -> Result
) async throws -> Result {
    let metadata = ProviderMetadata(
        tokenEndpoint: try ProviderURL("\(origin)/token"),
        revocationEndpoint: try revocationPath.map { path in try ProviderURL("\(origin)\(path)") }
    )
    return try await withEndpoint(
        .named(metadata),
        timeout: timeout,
        answerTimeout: answerTimeout,
        trusting: authority,
        as: registered,
        showing: identity,
        log: log,
        on: group,
        body
    )
}

@discardableResult
func withEndpoint<Result>(
    _ endpoints: ProviderSettings.Endpoints,
    signIn: ProviderSettings.SignInEndpoints = .none,
    timeout: Duration = .seconds(15),
    answerTimeout: Duration? = nil,
    trusting authority: String? = nil,
    as registered: RegisteredClient = RegisteredClient(client),
    showing identity: TLSIdentity? = nil,
    log: RecordingLog = RecordingLog(),
    clock: ManualClock = ManualClock(),
    on group: MultiThreadedEventLoopGroup = .singleton,
    _ body: (HTTPTokenEndpoint) async throws -> Result
) async throws -> Result {
    let endpoint = try HTTPTokenEndpoint(
        ProviderSettings(
            name: ProviderID("acme"),
            endpoints: endpoints,
            signIn: signIn,
            client: registered,
            timeout: timeout,
            answerTimeout: answerTimeout,
            trustRoots: authority,
            identity: identity
        ),
        on: group,
        timepiece: Timepiece(ages: clock, wall: { noon }),
        logger: log.logger
    )
    do {
        let result = try await body(endpoint)
        await endpoint.shutDown()
        return result
    } catch {
        await endpoint.shutDown()
        throw error
    }
}

extension HTTPTokenEndpoint {
    /// Redeems a fixed refresh token, always with the right to send.
    func redeem() async -> TokenVerdict {
        await self.redeem(Secret("canary-refresh-token"), scopes: [], mayStillSend: { true })
    }
}
