import NIOCore
import NIOEmbedded
import NIOSSL
import Proxy
import TestKit
import Testing

/// What a TLS listener does with the protocols that a caller offers (RFC 7301).
@Suite struct ProtocolGateTests {
    /// The first bytes of a client that offers `protocols`.
    static func hello(_ protocols: [String], _ change: (inout TLSConfiguration) -> Void = { _ in }) throws -> [UInt8] {
        let context = try NIOSSLContext.caller { configuration in
            configuration.applicationProtocols = protocols
            change(&configuration)
        }
        let channel = EmbeddedChannel(handler: try NIOSSLClientHandler(context: context, serverHostname: "a.example"))
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        var hello: [UInt8] = []
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { hello += Array(bytes.readableBytesView) }
        _ = try? channel.finish(acceptAlreadyClosed: true)
        return hello
    }

    /// The same message in records of at most `size` bytes.
    static func split(_ hello: [UInt8], into size: Int) -> [UInt8] {
        var records: [UInt8] = []
        var rest = hello.dropFirst(5)
        while !rest.isEmpty {
            let part = rest.prefix(size)
            records += [22, 3, 1, UInt8(part.count >> 8), UInt8(part.count & 0xFF)] + part
            rest = rest.dropFirst(size)
        }
        return records
    }

    private static let offers: [([String], ClientHello.Offer)] = [
        ([], .nothing), (["http/1.1"], .protocols(includesHTTP11: true)), (["h2"], .protocols(includesHTTP11: false)),
        (["h2", "http/1.1"], .protocols(includesHTTP11: true)), (["http/1.1", "h2"], .protocols(includesHTTP11: true)),
        (["http/1.0", "http/1.", "http/1.1x", "HTTP/1.1"], .protocols(includesHTTP11: false)),
    ]

    @Test(arguments: offers, [TLSVersion.tlsv12, .tlsv13])
    func `a client's offer is read, however it arrives`(
        row: (protocols: [String], offer: ClientHello.Offer),
        version: TLSVersion
    ) throws {
        let hello = try Self.hello(row.protocols) { $0.maximumTLSVersion = version }
        #expect(ClientHello.offer(in: hello.span) == row.offer)
        #expect(ClientHello.offer(in: (hello + [23, 3, 3]).span) == row.offer)
        for size in [hello.count / 2, hello.count / 7 + 1] {
            #expect(ClientHello.offer(in: Self.split(hello, into: size).span) == row.offer)
        }
        // The bytes so far only tell how many bytes must come.
        for count in 0..<hello.count {
            guard case .needsMore(let needed) = ClientHello.offer(in: Array(hello.prefix(count)).span) else {
                Issue.record("\(count) bytes are enough")
                continue
            }
            #expect(needed > count && needed <= hello.count)
        }
    }

    @Test func `what is no ClientHello, or comes in many pieces, is left to TLS`() throws {
        for bytes in [
            Array("GET / HTTP/1.1\r\n".utf8), [22, 4, 0, 0, 1, 1], [22, 3, 1, 0, 0], [22, 3, 1, 0xFF, 0xFF],
            [22, 3, 1, 0, 4, 2, 0, 0, 0], [22, 3, 1, 0, 4, 1, 0xFF, 0, 0], [22, 3, 1, 0, 4, 1, 0, 0, 0],
            Self.split(try Self.hello(["h2"]), into: 10),
        ] {
            #expect(ClientHello.offer(in: bytes.span) == .nothing)
        }
    }

    @Test func `the parser terminates on any input`() throws {
        let hello = try Self.hello(["h2", "http/1.1"])
        var random = SeededGenerator(7)
        for _ in 0..<20_000 {
            var bytes = hello
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            let cut = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
            if case .needsMore(let needed) = ClientHello.offer(in: cut.span) { #expect(needed > cut.count) }
        }
    }

    private func withTLS(_ test: (Rig, RecordingLog) async throws -> Void) async throws {
        let log = RecordingLog()
        var setup = Rig.Setup()
        let files = try TLSFiles()
        setup.tls = try CallerTLS(files.pair("server"))
        setup.log = log
        try await withRig(setup) { rig in try await test(rig, log) }
    }

    /// The alert `no_application_protocol`, fatal (RFC 8446 §6.2, RFC 7301 §3.2).
    private static let alert: [UInt8] = [21, 3, 3, 0, 2, 2, 120]

    @Test(arguments: [true, false])
    func `a caller that does not offer HTTP_1_1 gets an alert, and the log says why`(comesInDrops: Bool) async throws {
        try await self.withTLS { rig, log in
            let hello = try Self.hello(["h2", "acme-tls/1"])
            let caller = try await rig.caller()
            if comesInDrops {
                for byte in hello { try await caller.send(ByteBuffer(bytes: [byte])) }
            } else {
                try await caller.send(ByteBuffer(bytes: hello))
            }
            let (bytes, ending) = try await caller.rest()
            #expect(Array(bytes.readableBytesView) == Self.alert)
            #expect(ending == .clean)
            try await eventually("a line of the log") { !log.lines.isEmpty }
            try await rig.settleTLS()
            #expect(log.lines == ["debug a caller's TLS handshake failed error.code=handshake_no_protocol"])
        }
    }

    @Test(arguments: [[], ["http/1.1"], ["h2", "http/1.1"]])
    func `a caller that offers HTTP_1_1 or no protocol is served`(protocols: [String]) async throws {
        try await self.withTLS { rig, log in
            let caller = try await rig.secureCaller(.caller { $0.applicationProtocols = protocols })
            try await caller.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await caller.answer().head.status == 404)
            #expect(log.lines.isEmpty)
        }
    }
}

extension Rig {
    /// Returns when everything that was sent before has been read, if callers need TLS.
    fileprivate func settleTLS() async throws {
        let probe = try await self.secureCaller(.caller())
        try await probe.send("GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        _ = try await probe.rest()
        probe.close()
    }
}
