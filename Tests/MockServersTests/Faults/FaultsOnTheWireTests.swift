import Foundation
import MockServers
import TestKit
import Testing

@Suite(.timeLimit(.minutes(1))) struct FaultsOnTheWireTests {
    /// Sends one request and returns every byte that comes back.
    func bytes(_ address: ListeningAddress, _ request: String) async throws -> String {
        try await Wire.open(address) { wire in
            try await wire.send(request)
            return String(decoding: await wire.readToEnd(), as: UTF8.self)
        }
    }

    func refreshMessage(_ address: ListeningAddress, _ granted: TokenReply) -> String {
        let form = "\(ListeningAddress.client)&grant_type=refresh_token&refresh_token=\(granted.refreshToken ?? "")"
        return address.message("POST", "/oauth/token", ListeningAddress.formFields, body: form)
    }

    @Test func `a drop before processing sends no byte and changes nothing`() async throws {
        try await MockServer.withRunning(MockOptions(rules: TokenRules(rotates: true))) { address in
            let granted = try await address.grant()
            try await address.faults(#"[{"on": "token", "drop": "before"}]"#)

            #expect(try await self.bytes(address, self.refreshMessage(address, granted)).isEmpty)

            let stats = try await address.stats()
            #expect(stats.tokenRequests == .init(ok: 0, invalidGrant: 0, invalidClient: 0, fault: 1))
            #expect(stats.refreshTokenUses == ["a0": [1]])
            #expect(try await address.refresh(granted.refreshToken).status == 200)
        }
    }

    @Test func `a drop after the commit sends no byte, but the refresh has happened`() async throws {
        try await MockServer.withRunning(MockOptions(rules: TokenRules(rotates: true, detectsReuse: true))) { address in
            let granted = try await address.grant()
            try await address.faults(#"[{"on": "token", "drop": "after_commit"}]"#)

            #expect(try await self.bytes(address, self.refreshMessage(address, granted)).isEmpty)

            #expect(try await address.refresh(granted.refreshToken).status == 400)
            let stats = try await address.stats()
            #expect(stats.tokenRequests == .init(ok: 1, invalidGrant: 1, invalidClient: 0, fault: 0))
            #expect(stats.reuseDetections == 1)
            #expect(stats.live == ["a0": .init(refresh: 0, access: 0)])
        }
    }

    @Test func `a drop mid body sends the head and half of the body`() async throws {
        try await MockServer.withRunning { address in
            let granted = try await address.grant()
            try await address.faults(
                #"[{"on": "token", "drop": "mid_body"}, {"on": "api", "times": 0, "drop": "mid_body"}]"#
            )

            let answer = try await self.bytes(address, self.refreshMessage(address, granted))
            let parts = answer.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
            let length = try #require(Int(parts[0].split(separator: "Content-Length: ")[1].prefix { $0.isNumber }))
            #expect(parts[0].hasPrefix("HTTP/1.1 200 OK"))
            #expect(parts[1].utf8.count == length / 2)
            #expect(try await address.stats().tokenRequests.ok == 1)

            let authorization = [("Authorization", "Bearer \(granted.accessToken)")]
            let events = try await self.bytes(
                address,
                address.message("GET", "/api/stream/4?every=1ms", authorization)
            )
            #expect(events.contains("data: event 2") && !events.contains("data: event 3"))
            #expect(!events.hasSuffix("0\r\n\r\n"))
        }
    }

    @Test func `exactly half of a large body arrives, even if the client reads slowly`() async throws {
        try await MockServer.withRunning { address in
            let granted = try await address.grant()
            try await address.faults(#"[{"on": "api", "drop": "mid_body"}]"#)
            let request = address.message(
                "GET",
                "/api/bytes/20000001",
                [
                    ("Authorization", "Bearer \(granted.accessToken)")
                ]
            )
            try await Wire.open(address) { wire in
                try await wire.send(request)
                let all = await wire.readToEnd()
                let end = try #require(all.firstRange(of: Array("\r\n\r\n".utf8))).upperBound
                #expect(all.count - end == 10_000_000)
                let period = Data((0..<251).map(BytePattern.byte(at:)))
                var periods = Data(capacity: 10_000_251)
                while periods.count < 10_000_000 { periods.append(period) }
                #expect(Data(all[end...]) == periods.prefix(10_000_000))
            }
        }
    }

    @Test func `a canned response replaces processing as many times as configured`() async throws {
        try await MockServer.withRunning(MockOptions(rules: TokenRules(rotates: true))) { address in
            let granted = try await address.grant()
            try await address.faults(
                #"""
                [{"on": "token", "times": 2, "status": 429, "headers": [["Retry-After", "30"], ["X-A", "1"], ["X-A", "2"]],
                  "body": "{\"error\": \"slow\"}"},
                 {"on": "revoke", "status": 503}, {"on": "api", "path": "/api/echo", "body": "<html>",
                  "headers": {"Content-Type": "text/html"}}]
                """#
            )

            for _ in 0..<2 {
                let response = try await address.refresh(granted.refreshToken)
                #expect(response.status == 429)
                #expect(response.value("Retry-After") == "30")
                #expect(response.fields.filter { $0.name == "X-A" }.map(\.value) == ["1", "2"])
                #expect(response.text == #"{"error": "slow"}"#)
            }
            #expect(try await address.refresh(granted.refreshToken).status == 200)
            #expect(try await address.post("/oauth/revoke", "token=\(granted.refreshToken ?? "")").status == 503)
            #expect(try await address.api("/api/status/204", token: granted.accessToken).status == 204)
            let page = try await address.api("/api/echo", token: granted.accessToken)
            #expect(page.text == "<html>")
            #expect(page.value("Content-Type") == "text/html")

            let stats = try await address.stats()
            #expect(stats.tokenRequests == .init(ok: 1, invalidGrant: 0, invalidClient: 0, fault: 2))
            #expect(stats.revocations == .init(ok: 0, unknown: 0, fault: 1))
            #expect(stats.apiRequests.fault == 1)
            #expect(stats.apiRequests.ok == 1)
            #expect(stats.live["a0"]?.refresh == 1)
        }
    }

    @Test func `a wrong Content-Length is sent as configured`() async throws {
        try await MockServer.withRunning { address in
            let granted = try await address.grant()
            try await address.faults(#"[{"on": "api", "headers": {"Content-Length": "100"}, "body": "short"}]"#)
            let answer = try await Wire.open(address) { wire in
                try await wire.send(
                    address.message(
                        "GET",
                        "/api/echo",
                        [
                            ("Authorization", "Bearer \(granted.accessToken)"), ("Connection", "close"),
                        ]
                    )
                )
                return String(decoding: await wire.readToEnd(), as: UTF8.self)
            }
            #expect(answer.contains("Content-Length: 100\r\n"))
            #expect(answer.hasSuffix("\r\n\r\nshort"))
        }
    }

    @Test func `a delay comes before processing, an answer delay after it`() async throws {
        try await MockServer.withRunning(MockOptions(rules: TokenRules(rotates: true))) { address in
            let granted = try await address.grant()
            try await address.faults(#"[{"on": "token", "delay": "1h"}, {"on": "token", "delay_answer": "1h"}]"#)
            let message = self.refreshMessage(address, granted)
            try await Wire.open(address) { waiting in
                try await waiting.send(message)
                try await eventually("the refresh token to be used") {
                    try await address.stats().refreshTokenUses == ["a0": [1]]
                }
                #expect(try await address.stats().tokenRequests.ok == 0)

                try await Wire.open(address) { committed in
                    try await committed.send(message)
                    try await eventually("the token request to succeed") {
                        try await address.stats().tokenRequests.ok == 1
                    }
                    // Both requests are still in progress: one is not processed, the other has no response yet.
                    _ = try await address.refresh(granted.refreshToken)
                    #expect(try await address.stats().tokenRequestsAtOnce.any == 3)
                }
            }
        }
    }

    @Test func `a token that dies while its request waits is refused, but is no dead use`() async throws {
        try await MockServer.withRunning { address in
            let status = try await withEnoughTime("a token to die") { time in
                let wait = Int(time / .milliseconds(1))
                let granted = try await address.grant("a\(wait)")
                try await address.faults(#"[{"on": "api", "delay": "\#(wait)ms"}]"#)
                let start = ContinuousClock.now
                return try await Wire.open(address) { wire in
                    try await wire.send(
                        address.message("GET", "/api/echo", [("Authorization", "Bearer \(granted.accessToken)")])
                    )
                    try await eventually("the API to be used") {
                        try await address.stats().apiLastUse["a\(wait)"] != nil
                    }
                    _ = try await address.request("POST", "/_control/expire")
                    return ContinuousClock.now - start < time ? await wire.response()?.status : nil
                }
            }
            #expect(status == 401)
            let stats = try await address.stats()
            #expect(stats.deadUses.isEmpty)
            #expect(stats.apiRequests.expired >= 1)
        }
    }
}
