import HTTPWire
import NIOCore
import Proxy
import Synchronization
import TestKit
import Testing
import TokenModel

/// A kill, the lock, or the end of a lease, after a head is written and before the kernel has all of it.
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
    func `I3_ a head that is written but not flushed never leaves`(
        streams: KillStreams,
        speaksTLS: Bool
    ) async throws {
        try await withRig(self.setup(speaksTLS)) { rig in
            // Given an idle connection, on which a head waits for the end of its tick
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try await caller.answer().body == "ok")
            // and an event loop that is stalled by a request that has just taken the connection
            let loop = try await rig.stall { try await caller.send("GET /acme/late HTTP/1.1\r\nHost: a\r\n\r\n") }
            defer { loop.goOn() }

            // When the kill comes before the end of the tick
            async let fencing = rig.server.fence(.kill(streams: streams))
            try await eventually("the kill to be told") { rig.server.epochs.last == Epoch(1) }
            // The event loops handle this after the kill.
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

    @Test(arguments: [false, true])
    func `a head that is written but not flushed never leaves a locked gateway`(speaksTLS: Bool) async throws {
        try await withRig(self.setup(speaksTLS)) { rig in
            // Given, as above, a head that waits for the end of its tick
            let (caller, upstream) = try await rig.begun()
            try await upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try await caller.answer().body == "ok")
            let loop = try await rig.stall { try await caller.send("GET /acme/late HTTP/1.1\r\nHost: a\r\n\r\n") }
            defer { loop.goOn() }

            // When the lock comes before that
            async let locking = rig.server.lock()
            try await eventually("the lock to be told") { rig.server.isLocked }
            rig.server.setLeaseDeadline(.distantFuture)
            loop.goOn()

            #expect(await locking == 0)
            let (head, body) = try await caller.answer()
            #expect(head.status == 503)
            #expect(body.contains("urn:martlet:error:locked"))
            #expect(try await upstream.ending() == .reset)
            #expect(rig.upstream.connections == 1)
        }
    }

    @Test(arguments: [false, true])
    func `a head that the kernel has only in part is sent no further by a locked gateway`(
        speaksTLS: Bool
    ) async throws {
        try await withRig(self.narrow(speaksTLS)) { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.longRequest)
            let upstream = try await rig.upstream.accept()
            #expect(String(buffer: try await upstream.bytes(4)) == "GET ")

            #expect(await rig.server.lock() == 0)

            #expect(try await caller.answer().body.contains("urn:martlet:error:locked"))
            let (rest, ending) = try await upstream.rest()
            #expect(rest.readableBytes < Self.longField.utf8.count)
            #expect(ending == .reset)
        }
    }

    /// Longer than what the kernel takes for an upstream that does not read.
    private static let longField = String(repeating: "f", count: 2 << 20)
    private static let longRequest = "GET /acme/ HTTP/1.1\r\nHost: a\r\nLong: \(longField)\r\n\r\n"

    /// A setup with an upstream whose kernel takes little at once, and with a gateway that accepts a head of that size.
    private func narrow(_ speaksTLS: Bool) throws -> Rig.Setup {
        var setup = try self.setup(speaksTLS)
        setup.isNarrow = true
        setup.limits = { $0.headLimits = HeadLimits(head: 4 << 20, field: 4 << 20, fields: 100, target: 8 << 10) }
        return setup
    }

    @Test(arguments: KillStreams.allCases, [false, true])
    func `I3_ a head that the kernel has only in part is sent no further`(
        streams: KillStreams,
        speaksTLS: Bool
    ) async throws {
        try await withRig(self.narrow(speaksTLS)) { rig in
            // Given a head whose first bytes the upstream has read
            let caller = try await rig.caller()
            try await caller.send(Self.longRequest)
            let upstream = try await rig.upstream.accept()
            #expect(String(buffer: try await upstream.bytes(4)) == "GET ")

            // When the kill comes
            let fenced = await rig.server.fence(.kill(streams: streams))

            // Then the rest does not leave, and the caller gets 503
            #expect(fenced == FencedExchanges(closed: 1))
            let (head, body) = try await caller.answer()
            #expect(head.status == 503)
            #expect(body.contains("urn:martlet:error:killed"))
            let (rest, ending) = try await upstream.rest()
            #expect(rest.readableBytes < Self.longField.utf8.count)
            #expect(ending == .reset)
        }
    }

    @Test(arguments: [false, true])
    func `I6_ a head that the kernel has only in part is sent no further after the lease`(speaksTLS: Bool) async throws
    {
        try await withRig(self.narrow(speaksTLS)) { rig in
            let caller = try await rig.caller()
            try await caller.send(Self.longRequest)
            let upstream = try await rig.upstream.accept()
            #expect(String(buffer: try await upstream.bytes(4)) == "GET ")

            rig.server.setLeaseDeadline(.distantPast)

            let (head, body) = try await caller.answer()
            #expect(head.status == 503)
            #expect(body.contains("urn:martlet:error:store_lost"))
            let (rest, ending) = try await upstream.rest()
            #expect(rest.readableBytes < Self.longField.utf8.count)
            #expect(ending == .reset)
        }
    }

    /// The connection of an upstream that has read the first bytes of a request and sent its whole response. The rest
    /// of the request waits on the idle connection.
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
    func `I6_ the unsent rest of a request that got an early response does not leave after the lease`(
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
    func `I3_ the unsent rest of a request that got an early response does not leave after a kill`(
        streams: KillStreams,
        speaksTLS: Bool
    ) async throws {
        try await withRig(self.narrow(speaksTLS)) { rig in
            let upstream = try await self.answeredEarly(rig)

            // When the kill comes, while the rest of the head waits on the connection
            let fenced = await rig.server.fence(.kill(streams: streams))

            // Then no request is in progress any more, and the rest does not leave
            #expect(fenced == FencedExchanges())
            let (rest, ending) = try await upstream.rest()
            #expect(rest.readableBytes < Self.longField.utf8.count)
            #expect(ending == .reset)
        }
    }

    @Test(arguments: [false, true])
    func `the unsent rest of a request that got an early response does not leave a locked gateway`(
        speaksTLS: Bool
    ) async throws {
        try await withRig(self.narrow(speaksTLS)) { rig in
            let upstream = try await self.answeredEarly(rig)

            #expect(await rig.server.lock() == 0)

            let (rest, ending) = try await upstream.rest()
            #expect(rest.readableBytes < Self.longField.utf8.count)
            #expect(ending == .reset)
        }
    }

    @Test(arguments: KillStreams.allCases)
    func `I3_ a response over TLS is cut without close_notify, or drains`(streams: KillStreams) async throws {
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
