import HTTPWire
import NIOCore
import Proxy
import Synchronization
import TestKit
import Testing
import TokenModel

/// A kill, or a lease's end, that comes between a head's being written and the kernel's having all of it.
@Suite struct UnflushedFencingTests {
    private func setup(_ speaksTLS: Bool) throws -> Rig.Setup {
        guard speaksTLS else { return Rig.Setup() }
        let directory = try TemporaryDirectory()
        try directory.write(Array(TestCertificates.selfSigned.utf8), to: "ca.pem")
        let tls = try UpstreamTLS(.init(certificateAuthorities: directory.path(of: "ca.pem")))
        var setup = Rig.Setup.route { $0.upstream.tls = tls }
        setup.speaksTLS = true
        return setup
    }

    @Test(arguments: KillStreams.allCases, [false, true])
    func `I3_ a head that is written and not flushed never leaves`(
        streams: KillStreams,
        speaksTLS: Bool
    ) async throws {
        try await withRig(self.setup(speaksTLS)) { rig in
            // Given an idle connection: on that a head waits for its tick's end
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try await caller.answer().body == "ok")
            // and a loop that stands still behind a request that has just taken it
            let loop = try await rig.stall { try await caller.send("GET /acme/late HTTP/1.1\r\nHost: a\r\n\r\n") }
            defer { loop.goOn() }

            // When the kill comes ahead of the tick's end
            async let fencing = rig.server.fence(.kill(streams: streams))
            try await eventually("the kill to be told") { rig.server.epochs.last == Epoch(1) }
            // What is told to the loops later stands behind it.
            rig.server.setLeaseDeadline(.distantFuture)
            loop.goOn()

            let fenced = await fencing
            #expect(fenced == FencedExchanges(closed: 1))
            let (head, body) = try await caller.answer()
            #expect(head.status == 503)
            #expect(body.contains("urn:martlet:error:killed"))
            #expect(try await upstream.ending() == .reset)
            #expect(rig.upstream.connections == 1)
        }
    }

    /// Longer than what the kernel takes for an upstream that does not read.
    private static let longField = String(repeating: "f", count: 2 << 20)
    private static let longRequest = "GET /acme/ HTTP/1.1\r\nHost: a\r\nLong: \(longField)\r\n\r\n"

    /// An upstream whose kernel takes little at once, and a gateway that takes such a head.
    private func narrow(_ speaksTLS: Bool) throws -> Rig.Setup {
        var setup = try self.setup(speaksTLS)
        setup.isNarrow = true
        setup.limits = { $0.headLimits = HeadLimits(head: 4 << 20, field: 4 << 20, fields: 100, target: 8 << 10) }
        return setup
    }

    @Test(arguments: KillStreams.allCases, [false, true])
    func `I3_ a head that the kernel has only in part goes no further`(
        streams: KillStreams,
        speaksTLS: Bool
    ) async throws {
        try await withRig(self.narrow(speaksTLS)) { rig in
            // Given a head of which the upstream takes the first bytes
            let caller = try await rig.caller()
            try await caller.send(Self.longRequest)
            let upstream = try await rig.upstream.accept()
            #expect(String(buffer: try await upstream.bytes(4)) == "GET ")

            // When the kill comes
            let fenced = await rig.server.fence(.kill(streams: streams))

            // Then the rest stays here, and the caller is told
            #expect(fenced == FencedExchanges(closed: 1))
            let (head, body) = try await caller.answer()
            #expect(head.status == 503)
            #expect(body.contains("urn:martlet:error:killed"))
            let (rest, ending) = try await upstream.rest()
            #expect(rest.readableBytes < Self.longField.utf8.count)
            #expect(ending == .reset)
        }
    }

    /// An upstream that has answered a request whole, of which it has the first bytes: the rest waits on a connection that
    /// is idle.
    private func answeredEarly(_ rig: Rig) async throws -> Peer {
        let caller = try await rig.caller()
        try await caller.send(Self.longRequest)
        let upstream = try await rig.upstream.accept()
        #expect(String(buffer: try await upstream.bytes(4)) == "GET ")
        try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        #expect(try await caller.answer().body == "ok")
        return upstream
    }

    @Test(arguments: [false, true])
    func `I6_ what a request that was answered early has left unsent does not leave after the lease`(
        speaksTLS: Bool
    ) async throws {
        try await withRig(self.narrow(speaksTLS)) { rig in
            let upstream = try await self.answeredEarly(rig)

            rig.server.setLeaseDeadline(.distantPast)

            try await eventually("the connection to be closed by the gateway") { OtherEnd(of: upstream) == nil }
            let (rest, ending) = try await upstream.rest()
            #expect(rest.readableBytes < Self.longField.utf8.count)
            #expect(ending == .reset)
        }
    }

    @Test(arguments: KillStreams.allCases, [false, true])
    func `I3_ what a request that was answered early has left unsent does not leave an idle connection`(
        streams: KillStreams,
        speaksTLS: Bool
    ) async throws {
        try await withRig(self.narrow(speaksTLS)) { rig in
            let upstream = try await self.answeredEarly(rig)

            // When the kill comes, while the rest of the head waits on the connection
            let fenced = await rig.server.fence(.kill(streams: streams))

            // Then nothing is under way any more, and the rest stays here
            #expect(fenced == FencedExchanges())
            let (rest, ending) = try await upstream.rest()
            #expect(rest.readableBytes < Self.longField.utf8.count)
            #expect(ending == .reset)
        }
    }

    @Test(arguments: KillStreams.allCases)
    func `I3_ an answer over TLS is cut without a farewell, or goes on`(streams: KillStreams) async throws {
        try await withRig(self.setup(true)) { rig in
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
            #expect(try await caller.head().status == 200)

            let fenced = await rig.server.fence(.kill(streams: streams))

            switch streams {
            case .abort:
                #expect(fenced == FencedExchanges(closed: 1))
                #expect(try await upstream.ending() == .reset)
                #expect(try await caller.rest().ending == .reset)
            case .drain:
                #expect(fenced == FencedExchanges(draining: 1))
                try await upstream.send("k")
                #expect(String(buffer: try await caller.bytes(2)) == "ok")
            }
        }
    }
}
