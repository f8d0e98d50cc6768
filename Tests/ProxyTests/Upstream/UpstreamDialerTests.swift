import NIOCore
import NIOPosix
import NIOSSL
import Proxy
import TestKit
import Testing

@Suite struct UpstreamDialerTests {
    /// Dials `localhost` over TLS. Its addresses are the given ports of this machine, in that order.
    private func dial(_ ports: [Int], within time: Duration = .seconds(20)) async throws -> any Channel {
        let directory = try TemporaryDirectory()
        try directory.write(Array(TestCertificates.selfSigned.utf8), to: "ca.pem")
        let tls = try UpstreamTLS(UpstreamTLS.Files(certificateAuthorities: directory.path(of: "ca.pem")))
        let plan = RouteConfiguration.sample(port: 443) { plan in
            plan.upstream.host = "localhost"
            plan.upstream.tls = tls
            plan.timeouts.connect = time
        }
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let lookups = NameLookups(host: "localhost", port: 443) { _, _ in
            ports.compactMap { try? SocketAddress(ipAddress: "127.0.0.1", port: $0) }
        }
        let dialer = UpstreamDialer(plan, on: eventLoop, lookups: lookups)
        return try await eventLoop.flatSubmit { dialer.dial(until: .now() + TimeAmount(time)) }.get()
    }

    @Test func `if TLS fails at one address, the next one is tried`() async throws {
        let plain = try await Upstream.start()
        let secured = try await Upstream.start(speaksTLS: true)
        async let dialled = self.dial([plain.port, plain.port, secured.port])
        let first = try await plain.accept()
        try await first.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        let second = try await secured.accept()
        let listening = Task { try await second.rest() }
        let channel = try await dialled
        #expect(channel.remoteAddress?.port == secured.port)
        // The address that is listed twice is tried once.
        #expect(plain.connections == 1)
        #expect(secured.connections == 1)
        try await channel.close().get()
        _ = await listening.result
        try await plain.stop()
        try await secured.stop()
    }

    @Test func `if all addresses fail, the error of the first one is reported`() async throws {
        let plain = try await Upstream.start()
        let refusing = try await Upstream.start()
        try await refusing.stop()
        let dialling = Task { try await self.dial([plain.port, refusing.port]) }
        let first = try await plain.accept()
        try await first.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        let result = await dialling.result
        #expect(throws: BoringSSLError.self) {
            do { _ = try result.get() } catch NIOSSLError.handshakeFailed(let error) { throw error }
        }
        try await plain.stop()
    }

    @Test func `all addresses together have the connect timeout of one connection`() async throws {
        let silent = try await Upstream.start()
        let secured = try await Upstream.start(speaksTLS: true)
        await #expect(throws: (any Error).self) {
            try await self.dial([silent.port, secured.port], within: .milliseconds(300))
        }
        #expect(secured.connections == 0)
        try await silent.stop()
        try await secured.stop()
    }
}
