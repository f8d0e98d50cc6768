import Foundation
import NIOCore
import Proxy
import Telemetry
import TestKit
import Testing

@Suite struct AdmissionTests {
    private func setup(eventLoops: Int = 1, _ limits: @escaping (inout ProxyConfiguration) -> Void) -> Rig.Setup {
        var setup = Rig.Setup(eventLoops: eventLoops)
        setup.limits = limits
        return setup
    }

    /// Callers that have had a response each.
    private func served(_ count: Int, _ rig: Rig) async throws -> [Peer] {
        var callers: [Peer] = []
        for _ in 1...count {
            let caller = try await rig.caller()
            try await caller.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await caller.answer().head.status == 404)
            callers.append(caller)
        }
        return callers
    }

    private func expectTurnedAway(_ caller: Peer) async throws {
        let answer = try await caller.answer()
        #expect(answer.head.status == 503)
        #expect(answer.head["Retry-After"] == "1")
        #expect(answer.head["Connection"] == "close")
        #expect(answer.body.contains("\"urn:martlet:error:overloaded\""))
        #expect(try await caller.ending() == .clean)
    }

    /// Waits until the gateway has a place for another connection.
    private func expectPlace(
        _ rig: Rig,
        _ connect: @escaping @Sendable (Rig) async throws -> Peer = { try await $0.caller() }
    ) async throws {
        try await eventually("a place for another connection") {
            let caller = try await connect(rig)
            defer { caller.close() }
            try await caller.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
            return try await caller.answer().head.status == 404
        }
    }

    @Test(arguments: [1, 2])
    func `a connection above the limit gets 503 on any event loop, and existing connections are served`(
        eventLoops: Int
    ) async throws {
        try await withRig(self.setup(eventLoops: eventLoops) { $0.connections = 3 }) { rig in
            let callers = try await self.served(3, rig)
            for _ in 1...5 {
                let extra = try await rig.caller()
                try await extra.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
                try await self.expectTurnedAway(extra)
            }
            #expect(rig.upstream.connections == 0)
            for caller in callers {
                try await caller.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(try await caller.answer().head.status == 404)
            }
            callers[1].close()
            try await self.expectPlace(rig)
        }
    }

    @Test func `silent connections give way to one that authenticates itself, and those that have done so stay`()
        async throws
    {
        try await withRig(self.setup { $0.connections = 3 }) { rig in
            let known = try await self.served(1, rig)[0]
            var strangers: [Peer] = []
            for request in ["", "GET /nowhere HTTP/1.1\r\n"] {
                let stranger = try await rig.caller()
                if !request.isEmpty { try await stranger.send(request) }
                strangers.append(stranger)
            }
            try await rig.settle()
            // The probe of `settle` has taken the first one's place, and left.
            _ = try await strangers[0].rest()
            let newcomers = try await self.served(2, rig)
            _ = try await strangers[1].rest()
            for caller in [known] + newcomers {
                try await caller.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(try await caller.answer().head.status == 404)
            }
        }
    }

    @Test func `a caller with a wrong key stays a stranger`() async throws {
        var setup = self.setup { $0.connections = 1 }
        setup.callers = []
        try await withRig(setup) { rig in
            let stranger = try await rig.caller()
            try await stranger.send("GET /acme/ HTTP/1.1\r\nHost: a\r\nMartlet-Key: wrong\r\n\r\n")
            #expect(try await stranger.answer().head.status == 401)
            let next = try await rig.caller()
            try await next.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await next.answer().head.status == 401)
            _ = try await stranger.rest()
            // It is counted like one that was turned away.
            try await eventually("it to be counted") {
                let counts = await rig.server.traffic().routes[0]
                return counts[.none] == 1 && counts[.callerError] == 2
            }
        }
    }

    @Test func `heads that are still coming share their memory, and strangers' are refused before a known caller's`()
        async throws
    {
        try await withRig(self.setup { $0.headMemory = 256 << 10 }.frozen) { rig in
            let long = "X-A: \(String(repeating: "a", count: 10_000))\r\n"
            let head = "GET /nowhere HTTP/1.1\r\nHost: a\r\n"
            let known = try await self.served(1, rig)[0]
            try await known.send(head + long + long + long)
            var strangers: [Peer] = []
            for _ in 1...30 {
                let stranger = try await rig.caller()
                try await stranger.send(head + long + long)
                strangers.append(stranger)
            }
            try await rig.settle()
            var statuses: [Int: Int] = [:]
            for caller in strangers {
                try? await caller.send("\r\n")
                statuses[try await caller.answer().head.status, default: 0] += 1
            }
            #expect(statuses[431, default: 0] >= 30 - 256 / 20)
            #expect(statuses[404, default: 0] > 0)
            #expect(statuses.count == 2)
            try await known.send("\r\n")
            #expect(try await known.answer().head.status == 404)
        }
    }

    @Test func `a connection above the limit gets its 503 even with an upload, and HEAD gets no body`() async throws {
        try await withRig(self.setup { $0.connections = 1 }) { rig in
            let callers = try await self.served(1, rig)
            let upload = try await rig.caller()
            try await upload.send("POST /acme/ HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n")
            try await upload.send(ByteBuffer(repeating: 0x61, count: 500_000))
            try await self.expectTurnedAway(upload)

            let head = try await rig.caller()
            try await head.send("HEAD /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await head.head().status == 503)
            #expect(try await head.ending() == .clean)
            callers[0].close()
        }
    }

    @Test func `connections above the limit are closed if they stay silent or are too many to be heard`() async throws {
        try await withRig(self.setup { $0.connections = 1 }) { rig in
            let callers = try await self.served(1, rig)
            var silent: [Peer] = []
            for _ in 1...60 { silent.append(try await rig.caller()) }
            let late = try await rig.caller()
            #expect(try await late.ending() == .clean)
            for caller in silent { #expect(try await caller.ending() == .clean) }
            // The gateway can hear another connection again.
            let heard = try await rig.caller()
            try await heard.send("GET / HTTP/1.1\r\n")
            try await self.expectTurnedAway(heard)
            callers[0].close()
            try await self.expectPlace(rig)
        }
    }

    @Test func `rejected connections are counted and logged as requests that match no route`() async throws {
        try await withRig(self.setup { $0.connections = 1 }) { rig in
            let callers = try await self.served(1, rig)
            let heard = try await rig.caller()
            try await heard.send("GET / HTTP/1.1\r\n")
            try await self.expectTurnedAway(heard)
            let silent = try await rig.caller()
            _ = try await silent.ending()
            try await eventually("both to be counted") {
                let counts = await rig.server.traffic().routes[0]
                return counts[.serverError] == 1 && counts[.none] == 1 && counts[.callerError] == 1
            }
            callers[0].close()
        }
    }

    @Test(arguments: [1, 2])
    func `an address gets its share of connections, and a place back for each one that ends`(
        eventLoops: Int
    ) async throws {
        try await withRig(self.setup(eventLoops: eventLoops) { $0.connectionsPerAddress = 2 }) { rig in
            let callers = try await self.served(2, rig)
            let extra = try await rig.caller()
            try await extra.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            try await self.expectTurnedAway(extra)
            callers[0].close()
            try await self.expectPlace(rig)
        }
    }

    @Test func `callers over a Unix socket have no address, but count towards the total`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "martlet-\(UUID().uuidString.prefix(8)).sock")
            .path
        var setup = self.setup {
            $0.connectionsPerAddress = 1
            $0.connections = 4
        }
        setup.unixSocket = path
        try await withRig(setup) { rig in
            var callers: [Peer] = []
            for _ in 1...4 {
                let caller = try await Peer.connect(toSocket: path)
                try await caller.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(try await caller.answer().head.status == 404)
                callers.append(caller)
            }
            let extra = try await Peer.connect(toSocket: path)
            try await extra.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
            try await self.expectTurnedAway(extra)
            callers[0].close()
            try await self.expectPlace(rig) { _ in try await Peer.connect(toSocket: path) }
        }
    }
}
