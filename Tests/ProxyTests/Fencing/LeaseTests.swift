import NIOCore
import Proxy
import TestKit
import Testing
import TokenModel

@Suite struct LeaseTests {
    private static let get = "GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n"

    /// Runs `test` with a rig whose event loops have lost their lease, and whose source of credentials `test` plays.
    private func withLapsedRig(_ test: (Rig) async throws -> Void) async throws {
        try await withRig { rig in
            rig.credentials.hold(nil, for: Rig.account)
            rig.server.setLeaseDeadline(.now)
            try await test(rig)
        }
    }

    @Test func `I6_ after the end of the lease no token leaves, and a request asks as if there were none`() async throws
    {
        try await self.withLapsedRig { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.get)
            let question = try await rig.credentials.questions.next("question")
            #expect(question.refused == nil)
            // Given a lease that is renewed before the question is answered
            rig.server.setLeaseDeadline(.now.advanced(by: patience))
            question.answer(.success(.sample()))
            let upstream = try await rig.upstream.accept()
            #expect(try await upstream.head()["Authorization"] == "Bearer token-1")
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try await caller.answer().body == "ok")
            // Then the next request asks for nothing
            try await caller.send(Self.get)
            _ = try await upstream.head()
            #expect(rig.credentials.asked == 1)
        }
    }

    @Test(arguments: [true, false])
    func `I6_ a credential that comes without a new lease is not used`(isRefused: Bool) async throws {
        try await self.withLapsedRig { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.get)
            // It is asked for anew a few times: perhaps the lease ended while it was on its way.
            for _ in 0..<(isRefused ? 1 : 4) {
                let question = try await rig.credentials.questions.next("question")
                question.answer(
                    isRefused ? .failure(CredentialError(.storeLost, "out of reach")) : .success(.sample())
                )
            }
            let (head, body) = try await caller.answer()
            #expect(head.status == 503)
            #expect(head["Retry-After"] == "1")
            #expect(body.contains("urn:martlet:error:store_lost"))
            #expect(rig.credentials.asked == (isRefused ? 1 : 4))
        }
    }

    @Test func `a request does not retry for ever if the lease ends again and again`() async throws {
        try await withRig(Rig.Setup.route { $0.maxConnections = 1 }) { rig in
            rig.credentials.hold(nil, for: Rig.account)
            // Given a request that waits for the only connection
            let (busy, caller) = (try await rig.caller(), try await rig.caller())
            try await busy.send(Self.get)
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            try await caller.send(Self.get)
            for round in 1...4 {
                try await rig.settle()
                // When the lease ends each time before that connection is free
                rig.server.setLeaseDeadline(.now)
                try await rig.settle()
                try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                #expect(try await busy.answer().body == "ok")
                guard round < 4 else { break }
                let question = try await rig.credentials.questions.next("question \(round)")
                rig.server.setLeaseDeadline(.now.advanced(by: patience))
                // An event loop that gets both at once handles connections before leases.
                try await rig.settle()
                try await busy.send(Self.get)
                _ = try await upstream.head()
                question.answer(.success(.sample()))
                try await eventually("it to wait no more") { rig.server.waiterCount == 0 }
            }
            let (head, body) = try await caller.answer()
            #expect(head.status == 503)
            #expect(body.contains("store_lost"))
            #expect(rig.credentials.asked == 3)
        }
    }

    @Test func `I6_ a replay needs a lease too`() async throws {
        try await withRig { rig in
            rig.credentials.hold(nil, for: Rig.account)
            let caller = try await rig.caller()
            try await caller.send(Self.get)
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            // Given a newer credential than the refused one, and no lease
            rig.server.apply(.installed(.sample(2)))
            rig.server.setLeaseDeadline(.now)
            try await rig.settle()
            try await upstream.send(
                "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n"
            )
            for _ in 0..<4 {
                let question = try await rig.credentials.questions.next("question")
                #expect(question.refused == TokenVersion(.sample(1)))
                question.answer(.success(.sample(2)))
            }
            let (head, body) = try await caller.answer()
            #expect(head.status == 503)
            #expect(body.contains("store_lost"))
        }
    }

    @Test func `a response in progress needs no lease`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.get)
            let upstream = try await rig.upstream.accept()
            _ = try await upstream.head()
            rig.server.setLeaseDeadline(.now)
            try await rig.settle()
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try await caller.answer().body == "ok")
        }
    }
}
