import GatewayServer
import NIOPosix
import TestKit
import TokenModel

extension RefreshEvent {
    /// An event of the account, by default that the grant of `alice` is dead.
    static func sample(_ account: String = "alice", _ kind: Kind = .reauthorizationRequired) -> RefreshEvent {
        RefreshEvent(
            kind,
            provider: ProviderID("acme"),
            account: AccountID(account),
            reason: "invalid_grant",
            at: WallTime(millisecondsSince1970: 1_767_225_600_250)
        )
    }
}

/// Runs `body` with a webhook that uses short pauses, and stops the webhook afterwards. Accounts whose names begin with
/// `customer-` are a family.
func withWebhook<Result: Sendable>(
    to url: String?,
    pace: WebhookPace = .quick,
    timepiece: Timepiece = Timepiece(ages: BootClock()) { WallTime(millisecondsSince1970: 1_767_225_601_999) },
    log: RecordingLog = RecordingLog(),
    _ body: (Webhook) async throws -> Result
) async throws -> Result {
    let webhook = Webhook(
        url.map { WebhookTarget(url: $0, host: "127.0.0.1", secret: Secret("canary-secret")) },
        replica: "host-a",
        pace: pace,
        on: MultiThreadedEventLoopGroup.singleton,
        family: { account in AccountFamily(pattern: "customer-*").flatMap { $0.contains(account) ? $0 : nil } },
        timepiece: timepiece,
        logger: log.logger
    )
    let running = Task { await webhook.run() }
    do {
        let result = try await body(webhook)
        webhook.stop()
        try await within("the webhook to end") { await running.value }
        return result
    } catch {
        webhook.stop()
        await running.value
        throw error
    }
}

extension WebhookPace {
    /// Pauses of a few milliseconds.
    static let quick = WebhookPace(
        timeout: .seconds(60),
        firstPause: .milliseconds(5),
        longestPause: .milliseconds(20),
        grace: .seconds(60)
    )

    /// For receivers that are silent: what waits for their responses is soon over.
    static let impatient = WebhookPace(
        timeout: .milliseconds(300),
        firstPause: .milliseconds(5),
        longestPause: .milliseconds(20),
        grace: .milliseconds(300)
    )
}
