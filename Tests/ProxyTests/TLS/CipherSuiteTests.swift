import NIOCore
import NIOSSL
import Proxy
import TestKit
import Testing

/// The cipher suites of TLS 1.2 that the gateway speaks with callers and upstreams.
@Suite struct CipherSuiteTests {
    private static let ofCBC: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, .TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
        .TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, .TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA, .TLS_RSA_WITH_AES_128_CBC_SHA,
        .TLS_RSA_WITH_AES_256_CBC_SHA,
    ]
    private static let others: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]

    private static func ofVersion12(_ suites: [NIOTLSCipher]) -> (inout TLSConfiguration) -> Void {
        { configuration in
            configuration.maximumTLSVersion = .tlsv12
            configuration.cipherSuiteValues = suites
        }
    }

    @Test func `a caller with CBC suites only is not served, and one with others is`() async throws {
        let log = RecordingLog()
        var setup = Rig.Setup()
        let files = try TLSFiles()
        setup.tls = try CallerTLS(files.pair("server"))
        setup.log = log
        try await withRig(setup) { rig in
            let old = try await rig.secureCaller(.caller(Self.ofVersion12(Self.ofCBC)))
            #expect(try await old.rest().ending == .reset)
            try await eventually("a line of the log") { !log.lines.isEmpty }
            #expect(log.lines == ["debug a caller's TLS handshake failed error.code=handshake_failed"])

            let caller = try await rig.secureCaller(.caller(Self.ofVersion12(Self.ofCBC + Self.others)))
            try await caller.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await caller.answer().head.status == 404)
        }
    }

    @Test(arguments: [false, true])
    func `an upstream with CBC suites only gets no request, and one with others does`(hasOthers: Bool) async throws {
        let directory = try TemporaryDirectory()
        try directory.write(Array(TestCertificates.selfSigned.utf8), to: "ca.pem")
        let tls = try UpstreamTLS(.init(certificateAuthorities: directory.path(of: "ca.pem")))
        var setup = Rig.Setup.route { $0.upstream.tls = tls }
        setup.speaksTLS = true
        setup.changeTLS = Self.ofVersion12(Self.ofCBC + (hasOthers ? Self.others : []))
        try await withRig(setup) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            guard !hasOthers else {
                _ = try await upstream.head()
                return
            }
            // The peer reads only while a test waits, and a stalled handshake would fail too.
            async let rest = upstream.rest()
            let answer = try await caller.answer()
            #expect(answer.head.status == 502)
            #expect(answer.body.contains("upstream_unreachable"))
            #expect(try await rest.bytes.readableBytes == 0)
        }
    }
}
