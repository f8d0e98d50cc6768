import Logging
import OAuth
import ProviderClient
import TestKit
import Testing
import TokenModel

extension LoopbackTests {
    @Suite struct LoggingTests {
        @Test(arguments: [
            (
                http("200 OK", #"{"access_token":"canary-1","refresh_token":"canary-2"}"#),
                "debug token endpoint was asked to refresh account.name=alice "
                    + "http.length=54 http.status=200 provider.name=acme verdict=success"
            ),
            (
                http("400 Bad Request", #"{"error":"invalid_grant","error_description":"token canary-1 is dead"}"#),
                "warning token endpoint gave no tokens account.name=alice "
                    + "http.length=70 http.status=400 provider.name=acme reason=invalid_grant url.full=URL verdict=dead"
            ),
            (
                http("400 Bad Request", #"{"error":"no canary-1"}"#),
                "warning token endpoint gave no tokens account.name=alice "
                    + "http.length=23 http.status=400 provider.name=acme reason=no_known_reason url.full=URL verdict=refused"
            ),
        ])
        func `I16_only status, length and a known error code of a response are logged`(bytes: String, facts: String)
            async throws
        {
            let server = try await ScriptedServer { _ in .bytes(bytes) }
            let log = RecordingLog()
            try await withEndpoint(at: server.origin, log: log) { endpoint in
                _ = await ExchangeSubject.account.withValue(AccountID("alice")) { await endpoint.redeem() }
                _ = await endpoint.revoke(Secret("canary-access-token"), kind: .accessToken)
            }
            let line = facts.replacing("URL", with: "\(server.origin)/token")
            #expect(log.lines.contains(line), "\(log.lines)")
            #expect(log.lines.count == 2)
            #expect(!log.lines.contains { $0.contains("canary") || $0.contains("Basic") })
            await server.stop()
        }

        @Test func `status and length are logged as numbers, as in request log entries`() async throws {
            let server = try await ScriptedServer { _ in .bytes(http("400 Bad Request", "{}")) }
            let log = RecordingLog()
            try await withEndpoint(at: server.origin, log: log) { endpoint in _ = await endpoint.redeem() }
            let facts = try #require(log.facts.first)
            // Text that looks the same is not equal to a number.
            #expect(facts["http.status"] == .stringConvertible(400))
            #expect(facts["http.length"] == .stringConvertible(2))
            await server.stop()
        }

        @Test func `a provider clock that is off is logged once`() async throws {
            let hourAhead = http("400 Bad Request", "{}", "Date: Thu, 19 Nov 2026 13:00:00 GMT")
            let server = try await ScriptedServer { _ in .bytes(hourAhead) }
            let log = RecordingLog()
            try await withEndpoint(at: server.origin, log: log) { endpoint in
                _ = await endpoint.redeem()
                _ = await endpoint.redeem()
            }
            let warnings = log.lines.filter { $0.hasPrefix("warning provider's clock") }
            #expect(warnings.count == 1)
            #expect(warnings.first?.contains("clock.difference_seconds=3600") == true)
            await server.stop()
        }

        @Test(arguments: ["Thu, 19 Nov 2026 12:00:30 GMT", "Thu, 19 Nov 2026 11:59:10 GMT", "nonsense"])
        func `a provider clock that is off by less than a minute is not logged`(date: String) async throws {
            let server = try await ScriptedServer { _ in .bytes(http("400 Bad Request", "{}", "Date: \(date)")) }
            let log = RecordingLog()
            try await withEndpoint(at: server.origin, log: log) { endpoint in _ = await endpoint.redeem() }
            #expect(!log.lines.contains { $0.hasPrefix("warning provider's clock") })
            await server.stop()
        }
    }
}
