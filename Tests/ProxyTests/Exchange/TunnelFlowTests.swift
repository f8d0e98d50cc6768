import NIOCore
import Proxy
import Telemetry
import TestKit
import Testing
import TokenModel

@Suite struct TunnelFlowTests {
    private static let piece = ByteBuffer(repeating: 0x61, count: 128 << 10)
    /// An upper bound for the bytes in the kernel's buffers along the way. A socket's receive buffer alone grows to the
    /// host's `tcp_rmem`, which is 6 MiB by default and 32 MiB on some hosts.
    private static let slack = 64 << 20

    private func tunnel(_ rig: Rig, receiveBuffer: Int? = nil) async throws -> (caller: Peer, upstream: Peer) {
        let caller = try await rig.caller(receiveBuffer: receiveBuffer)
        try await caller.send(Handshake.request())
        let upstream = try await rig.upstream.accept()
        _ = try await upstream.head()
        try await upstream.send(Handshake.accepted)
        #expect(try await caller.head().status == 101)
        return (caller, upstream)
    }

    @Test(arguments: [true, false])
    func `I18_ a side that does not read stops the other side, and loses nothing`(fromCaller: Bool) async throws {
        try await withRig(Rig.Setup(sendBuffer: 64 << 10)) { rig in
            let (caller, upstream) = try await self.tunnel(rig, receiveBuffer: 64 << 10)
            let (from, to) = fromCaller ? (caller, upstream) : (upstream, caller)
            let taken = try await from.sendUntilStalled(Self.piece, limit: 128 << 20)
            #expect(taken < Self.slack)
            // The other direction still works.
            try await to.send("hello")
            #expect(String(buffer: try await from.bytes(5)) == "hello")
            #expect(try await to.bytes(taken).readableBytes == taken)
            _ = try await to.bytes(Self.piece.readableBytes)
        }
    }

    @Test(arguments: [true, false])
    func `over TLS the ends of both sides are passed on too`(callerFirst: Bool) async throws {
        let directory = try TemporaryDirectory()
        try directory.write(Array(TestCertificates.selfSigned.utf8), to: "ca.pem")
        let tls = try UpstreamTLS(UpstreamTLS.Files(certificateAuthorities: directory.path(of: "ca.pem")))
        var setup = Rig.Setup.route { $0.upstream.tls = tls }
        setup.speaksTLS = true
        try await withRig(setup) { rig in
            let (caller, upstream) = try await self.tunnel(rig)
            let (first, second) = callerFirst ? (caller, upstream) : (upstream, caller)
            try await first.send("last words")
            try await first.finish()
            let (bytes, ending) = try await second.rest()
            #expect(String(buffer: bytes) == "last words")
            #expect(ending == .clean)
            let flood = ByteBuffer(repeating: 0x61, count: 3 << 20)
            async let sent: Void = second.send(flood)
            #expect(try await first.bytes(flood.readableBytes) == flood)
            try await sent
            try await second.finish()
            #expect(try await first.ending() == .clean)
        }
    }

    @Test func `a tunnel is counted and logged when it ends, with the bytes of both directions`() async throws {
        let output = try CapturedOutput()
        let log = LogWriter(to: LogOutput(descriptor: output.descriptor), format: .text) {
            LogClock(now: WallTime(millisecondsSince1970: 0), bootNow: .now)
        }
        var setup = Rig.Setup()
        setup.accessLog = log
        try await withRig(setup) { rig in
            let (caller, upstream) = try await self.tunnel(rig)
            try await caller.send("canary")
            _ = try await upstream.bytes(6)
            try await upstream.send("canary canary")
            _ = try await caller.bytes(13)
            #expect(await rig.server.traffic().routes[1][StatusClass.switched] == 0)
            try await caller.finish()
            _ = try await upstream.ending()
            try await upstream.finish()
            _ = try await caller.ending()
            let (cut, other) = try await self.tunnel(rig)
            try await other.reset()
            _ = try await cut.ending()
            try await eventually("both to be counted") {
                await rig.server.traffic().routes[1][StatusClass.switched] == 2
            }
        }
        #expect(await log.close(within: patience))
        let lines = output.lines
        try #require(lines.count == 2)
        #expect(lines[0].contains(" http.method=GET route.name=acme account.name=alice http.status=101 duration_ms="))
        #expect(lines[0].hasSuffix(" bytes_in=6 bytes_out=13 replayed=false"))
        #expect(lines[1].hasSuffix(" bytes_in=0 bytes_out=0 replayed=false aborted=true"))
        #expect(!output.text.contains("canary"))
    }
}
