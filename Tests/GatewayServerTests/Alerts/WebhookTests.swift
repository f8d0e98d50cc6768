import Crypto
import Foundation
import GatewayServer
import TestKit
import Testing
import TokenModel

/// What a real receiver on loopback gets, and what happens to alerts that can't be delivered.
@Suite(.timeLimit(.minutes(1))) struct WebhookTests {
    private let log = RecordingLog()

    private func withReceiver<Result: Sendable>(
        pace: WebhookPace = .quick,
        _ body: (Receiver, Webhook) async throws -> Result
    ) async throws -> Result {
        let receiver = try await Receiver.open()
        let url = "http://127.0.0.1:\(receiver.port)/hook?x=y"
        let result = try await withWebhook(to: url, pace: pace, log: self.log) { webhook in
            try await body(receiver, webhook)
        }
        await receiver.close()
        return result
    }

    private static func json(_ body: [UInt8]) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
    }

    @Test func `an alert arrives as JSON with a signature that its receiver can verify`() async throws {
        try await self.withReceiver { receiver, webhook in
            webhook.post(.sample())
            try await eventually("it to arrive") { receiver.arrivals.count == 1 }
            let arrival = try #require(receiver.arrivals.first)
            #expect(arrival.method == "POST")
            #expect(arrival.path == "/hook?x=y")
            #expect(arrival.headers["content-type"] == "application/json")

            let content = try Self.json(arrival.body)
            #expect(content["event"] as? String == "reauthorization_required")
            #expect(content["account"] as? String == "alice")
            #expect(content["provider"] as? String == "acme")
            #expect(content["reason"] as? String == "invalid_grant")
            #expect(content["replica"] as? String == "host-a")
            #expect(content["time"] as? String == "2026-01-01T00:00:00.250Z")
            #expect((content["id"] as? String)?.count == 32)
            #expect(content["command"] as? String == "martlet login alice")
            #expect(content.count == 8)

            // The receiver verifies the signature this way.
            let signed = Data("1767225601.".utf8) + Data(arrival.body)
            let code = HMAC<SHA256>.authenticationCode(
                for: signed,
                using: SymmetricKey(data: Data("canary-secret".utf8))
            )
            let digits = code.map { String(format: "%02x", $0) }.joined()
            #expect(arrival.headers["martlet-signature"] == "t=1767225601,v1=\(digits)")
            try await eventually("it to be counted") { webhook.counts.delivered == 1 }
        }
        #expect(!self.log.text.contains("canary"))
    }

    @Test func `an alert about a whole provider names no account`() async throws {
        try await self.withReceiver { receiver, webhook in
            webhook.post(
                RefreshEvent(
                    .providerConfig,
                    provider: ProviderID("acme"),
                    account: nil,
                    reason: "config.invalid_client",
                    at: WallTime(millisecondsSince1970: 0)
                )
            )
            try await eventually("it to arrive") { receiver.arrivals.count == 1 }
            let content = try Self.json(try #require(receiver.arrivals.first).body)
            #expect(content["account"] is NSNull)
            #expect(content["command"] is NSNull)
        }
    }

    @Test(
        arguments: [
            (.reauthorizationRequired, "o'neil & co", #"martlet login 'o'\''neil & co'"#),
            (.approvalRequired, "o'neil & co", #"martlet approve 'o'\''neil & co'"#),
            (.refreshFailed, "alice", nil),
        ] as [(RefreshEvent.Kind, String, String?)]
    )
    func `an alert that a command helps with has one that is safe to copy into a shell`(
        kind: RefreshEvent.Kind,
        account: String,
        command: String?
    ) async throws {
        try await self.withReceiver { receiver, webhook in
            webhook.post(
                RefreshEvent(
                    kind,
                    provider: ProviderID("acme"),
                    account: AccountID(account),
                    reason: "invalid_grant",
                    at: WallTime(millisecondsSince1970: 0)
                )
            )
            try await eventually("it to arrive") { receiver.arrivals.count == 1 }
            let content = try Self.json(try #require(receiver.arrivals.first).body)
            #expect(content["command"] as? String == command)
            #expect(content.keys.contains("command"))
        }
    }

    @Test func `events of a family are one alert, which names the first accounts and counts all`() async throws {
        // On its own clock no time passes while the events are posted, however long that takes.
        let clock = ManualClock()
        let receiver = try await Receiver.open()
        try await withWebhook(
            to: "http://127.0.0.1:\(receiver.port)/",
            timepiece: Timepiece(ages: clock) { clock.wall },
            log: self.log
        ) { webhook in
            for number in 1...10_000 { webhook.post(.sample("customer-\(number)")) }
            webhook.post(.sample("alice"))
            try await eventually("the event of alice") { receiver.arrivals.count == 1 }
            clock.advance(by: .seconds(60))
            try await eventually("the sum") { receiver.arrivals.count == 2 }
            let contents = try receiver.arrivals.map { try Self.json($0.body) }
            #expect(contents.first?["account"] as? String == "alice")
            let sum = try #require(contents.last)
            #expect(sum["event"] as? String == "reauthorization_required")
            #expect(sum["account"] is NSNull)
            #expect(sum["family"] as? String == "customer-*")
            #expect(sum["accounts"] as? [String] == (1...20).map { "customer-\($0)" })
            #expect(sum["count"] as? Int == 10_000)
            #expect(
                sum["command"] as? String
                    == "martlet accounts list --prefix customer- --state reauthorization_required"
            )
            #expect(sum.count == 11)
            try await eventually("both to be taken") { webhook.counts.delivered == 2 }
            #expect(webhook.counts.dropped == 0)
        }
        await receiver.close()
    }

    @Test func `an approval that a customer's request waits for is asked for at once`() async throws {
        try await self.withReceiver { receiver, webhook in
            webhook.post(.sample("customer-1", .approvalRequired))
            try await eventually("it to arrive") { receiver.arrivals.count == 1 }
            let content = try Self.json(try #require(receiver.arrivals.first).body)
            #expect(content["accounts"] as? [String] == ["customer-1"])
            #expect(content["command"] as? String == "martlet approve customer-1")
        }
    }

    @Test func `a webhook that is taken out of the configuration drops the sums that are open`() async throws {
        try await self.withReceiver { _, webhook in
            for account in ["customer-1", "customer-2"] { webhook.post(.sample(account)) }
            webhook.reload(nil)
            #expect(webhook.counts.dropped == 1)
        }
    }

    @Test func `a stop sends the sums that are open`() async throws {
        let receiver = try await Receiver.open()
        try await withWebhook(to: "http://127.0.0.1:\(receiver.port)/", log: self.log) { webhook in
            webhook.post(.sample("customer-1"))
            webhook.post(.sample("customer-2", .refreshFailed))
        }
        let events = try receiver.arrivals.map { try Self.json($0.body)["event"] as? String }
        #expect(events == ["reauthorization_required", "refresh_failed"])
        await receiver.close()
    }

    @Test(arguments: [Receiver.Manner.answer(500), .answer(404), .answer(301)])
    func `an alert that a receiver refuses is sent again with the same id, and the failure logged once`(
        manner: Receiver.Manner
    ) async throws {
        try await self.withReceiver { receiver, webhook in
            receiver.behave(next: manner, manner, manner)
            webhook.post(.sample())
            try await eventually("it to be taken") { webhook.counts.delivered == 1 }
            let ids = try receiver.arrivals.map { try Self.json($0.body)["id"] as? String }
            #expect(ids.count == 4)
            #expect(Set(ids).count == 1)
            #expect(webhook.counts.failed == 3)
        }
        self.expectOneFailureInTheLog()
    }

    @Test func `an alert that a receiver leaves without response is sent again with the same id`() async throws {
        try await self.withReceiver(pace: .impatient) { receiver, webhook in
            receiver.behave(.silence)
            webhook.post(.sample())
            try await eventually("three to arrive") { receiver.arrivals.count >= 3 }
            receiver.behave(.answer(204))
            try await eventually("it to be taken") { webhook.counts.delivered == 1 }
            #expect(webhook.counts.failed >= 3)
            #expect(Set(try receiver.arrivals.map { try Self.json($0.body)["id"] as? String }).count == 1)
        }
        self.expectOneFailureInTheLog()
    }

    /// Call it when the webhook has ended: it counts an outcome before it logs it.
    private func expectOneFailureInTheLog() {
        #expect(self.log.lines.count { $0.contains("does not take alerts") } == 1)
        #expect(self.log.lines.count { $0.contains("takes alerts again") } == 1)
    }

    @Test func `a receiver that was unreachable gets all alerts once it is back`() async throws {
        let port = try LoopbackPort.free()
        try await withWebhook(to: "http://127.0.0.1:\(port)/", log: self.log) { webhook in
            for account in ["a", "b", "c"] { webhook.post(.sample(account)) }
            try await eventually("tries") { webhook.counts.failed >= 3 }
            let receiver = try await Receiver.open(on: port)
            try await eventually("all to be told") { webhook.counts.delivered == 3 }
            let accounts = try receiver.arrivals.map { try Self.json($0.body)["account"] as? String ?? "" }
            #expect(accounts.sorted() == ["a", "b", "c"])
            await receiver.close()
        }
    }

    @Test func `a redirect is not followed`() async throws {
        let elsewhere = try await Receiver.open()
        try await self.withReceiver { receiver, webhook in
            receiver.behave(next: .redirect("http://127.0.0.1:\(elsewhere.port)/"))
            webhook.post(.sample())
            try await eventually("it to be taken") { webhook.counts.delivered == 1 }
            #expect(receiver.arrivals.count == 2)
            #expect(elsewhere.arrivals.isEmpty)
        }
        await elsewhere.close()
    }

    @Test func `alerts beyond the queue limit are dropped, counted and logged, and no caller waits`() async throws {
        var pace = WebhookPace.impatient
        pace.room = 3
        try await self.withReceiver(pace: pace) { receiver, webhook in
            receiver.behave(.silence)
            for number in 0..<100 { webhook.post(.sample("account-\(number)")) }
            #expect(webhook.counts.dropped == 97)
            #expect(self.log.lines.count { $0.contains("too many alerts") } == 1)
            await receiver.close()
            webhook.reload(nil)
        }
    }

    @Test func `an alert that is too old is dropped and logged`() async throws {
        var pace = WebhookPace.quick
        pace.longestAge = .milliseconds(50)
        try await self.withReceiver(pace: pace) { receiver, webhook in
            receiver.behave(.answer(503))
            webhook.post(.sample())
            try await eventually("it to be dropped") { webhook.counts.dropped == 1 }
        }
        #expect(self.log.text.contains("could not be delivered in time"))
    }

    @Test func `a stop gives the remaining alerts one more try`() async throws {
        var pace = WebhookPace.quick
        pace.firstPause = .seconds(600)
        pace.longestPause = .seconds(600)
        let receiver = try await Receiver.open()
        receiver.behave(next: .answer(500))
        try await withWebhook(to: "http://127.0.0.1:\(receiver.port)/", pace: pace, log: self.log) { webhook in
            webhook.post(.sample("a"))
            try await eventually("the first try") { webhook.counts.failed == 1 }
            webhook.post(.sample("b"))
        }
        let accounts = try receiver.arrivals.map { try Self.json($0.body)["account"] as? String ?? "" }
        #expect(accounts == ["a", "a", "b"] || accounts == ["a", "b", "a"])
        await receiver.close()
    }

    @Test func `a receiver that never responds does not delay a stop, and lost alerts are logged`() async throws {
        let receiver = try await Receiver.open()
        receiver.behave(.silence)
        // A stop that waited for all of them would reach the limit of `withWebhook`.
        let url = "http://127.0.0.1:\(receiver.port)/"
        try await withWebhook(to: url, pace: .impatient, log: self.log) { webhook in
            for number in 0..<250 { webhook.post(.sample("account-\(number)")) }
            try await eventually("the first try") { receiver.arrivals.count >= 1 }
        }
        #expect(self.log.text.contains("alerts were not delivered before shutdown"))
        await receiver.close()
    }

    @Test func `without a target no alert is kept, and a new target gets the alerts from then on`() async throws {
        let receiver = try await Receiver.open()
        try await withWebhook(to: nil, log: self.log) { webhook in
            webhook.post(.sample("before"))
            webhook.reload(
                WebhookTarget(url: "http://127.0.0.1:\(receiver.port)/", host: "127.0.0.1", secret: Secret("other"))
            )
            webhook.post(.sample("after"))
            try await eventually("it to be told") { webhook.counts.delivered == 1 }
            #expect(receiver.arrivals.count == 1)
            let content = try Self.json(try #require(receiver.arrivals.first).body)
            #expect(content["account"] as? String == "after")
        }
        await receiver.close()
    }
}
