import NIOCore
import Proxy
import TestKit
import Testing

/// Over TLS the end of each side of a tunnel is a message of its own (close_notify). After both messages TLS ends the
/// connection, even if bytes still wait for the kernel.
@Suite struct TunnelFarewellTests {
    /// The numbers of bytes to send. Some lie between what the kernel takes from the gateway at once and the point 16
    /// KiB further on where the gateway stops reading. With these the gateway reads the other side's end while bytes
    /// wait. How much the kernel takes differs between connections and systems. With Linux 6.18 about one number in ten
    /// to twenty meets that moment.
    private static let sizes = [
        (true, stride(from: 184 << 10, to: 400 << 10, by: 4 << 10)),
        (false, stride(from: 168 << 10, to: 200 << 10, by: 512)),
    ]

    @Test(arguments: sizes)
    func `a side that reads only after its own end gets everything that was sent before the other side's end`(
        fromCaller: Bool,
        sizes: StrideTo<Int>
    ) async throws {
        let directory = try TemporaryDirectory()
        try directory.write(Array(TestCertificates.selfSigned.utf8), to: "ca.pem")
        var setup = Rig.Setup()
        if fromCaller {
            let tls = try UpstreamTLS(UpstreamTLS.Files(certificateAuthorities: directory.path(of: "ca.pem")))
            setup = .route { $0.upstream.tls = tls }
            setup.speaksTLS = true
            setup.isNarrow = true
        } else {
            let files = try TLSFiles()
            setup.tls = try withExtendedLifetime(files) { try CallerTLS(files.pair("server")) }
        }
        try await withRig(setup) { rig in
            for size in sizes {
                let caller =
                    fromCaller ? try await rig.caller() : try await rig.secureCaller(.caller(), isNarrow: true)
                try await caller.send(Handshake.request())
                let upstream = try await rig.upstream.accept()
                _ = try await upstream.head()
                try await upstream.send(Handshake.accepted)
                #expect(try await caller.head().status == 101)
                let (from, to) = fromCaller ? (caller, upstream) : (upstream, caller)
                // Given bytes that nobody reads, and an end after them
                let sent = ByteBuffer(repeating: 0x61, count: size)
                try await from.send(sent)
                try await from.finish()
                for _ in 1...3 { try await rig.settle() }
                // When the other side has ended too
                try await to.finish()
                for _ in 1...3 { try await rig.settle() }
                // Then that side finds all bytes. The close_notify may be missing, because TLS waits for nobody to take
                // it
                let found = try await to.rest().bytes.readableBytes
                #expect(found == size)
                let ending = try await from.ending()
                #expect(ending == .clean, "\(size) bytes")
            }
        }
    }
}
