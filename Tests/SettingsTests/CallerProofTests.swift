import Settings
import Testing

/// Callers that authenticate with a certificate, or as the peer process of a Unix socket.
@Suite struct CallerProofTests {
    private func caller(_ text: String) throws -> CallerSettings {
        try #require(try settings(of: SampleFile().adding("callers: [{ name: a, \(text) }]").text).callers?.first)
    }

    @Test(
        arguments: [
            ("{ san: Batch.Internal }", .dns("batch.internal")),
            ("{ san: batch }", .dns("batch")),
            ("{ san: 'spiffe://acme.example/Batch' }", .uri("spiffe://acme.example/Batch")),
            ("{ san: 'urn:acme:batch' }", .uri("urn:acme:batch")),
            ("{ san: ops@acme.example }", .email("ops@acme.example")),
            ("{ subject: 'CN=batch,O=Acme' }", .subject("CN=batch,O=Acme")),
            (#"{ subject: 'CN=a = b\, c' }"#, .subject(#"CN=a = b\, c"#)),
            (
                #"{ subject: 'CN=batch+OU=two,OU=Straße,O=Acme\, Inc. \"x\" \\,C=DE' }"#,
                .subject(#"CN=batch+OU=two,OU=Straße,O=Acme\, Inc. \"x\" \\,C=DE"#)
            ),
        ] as [(String, CertificateNameSettings)]
    )
    func `a certificate is named by its subject or one alternative name`(
        text: String,
        name: CertificateNameSettings
    ) throws {
        let caller = try self.caller("certificate: \(text)")
        #expect(caller.certificate == name)
        #expect(caller.keyDigests.isEmpty && caller.peer == nil)
    }

    @Test func `a peer is a user, a group, or both`() throws {
        #expect(try self.caller("peer: { uid: 1001 }").peer?.user == 1_001)
        #expect(try self.caller("peer: { uid: 0 }").peer?.user == 0)
        #expect(try self.caller("peer: { gid: 50 }").peer?.group == 50)
        let both = try self.caller("peer: { uid: 4294967294, gid: 50 }, \(CallerTests.line.dropFirst(26).dropLast(3))")
        #expect(both.peer?.user == 4_294_967_294 && both.peer?.group == 50 && both.keyDigests.count == 1)
    }

    @Test(arguments: [
        ("certificate: {}", "callers[0].certificate: needs subject or san"),
        (
            "certificate: { san: a, subject: CN=a }",
            "callers[0].certificate.subject: has no place beside san: one of them says who it is"
        ),
        (
            "certificate: { san: '*.internal' }",
            "callers[0].certificate.san: is not a DNS name, a URI such as spiffe://acme.example/batch, or a mail address"
        ),
        (
            "certificate: { san: 127.0.0.1 }",
            "callers[0].certificate.san: is not a DNS name, a URI such as spiffe://acme.example/batch, or a mail address"
        ),
        (
            "certificate: { san: '::1' }",
            "callers[0].certificate.san: is not a DNS name, a URI such as spiffe://acme.example/batch, or a mail address"
        ),
        ("certificate: { subject: batch }", "callers[0].certificate.subject: is not a subject such as CN=batch,O=Acme"),
        ("certificate: batch.internal", "callers[0].certificate: expected a mapping, found text"),
        ("peer: {}", "callers[0].peer: needs uid or gid"),
        ("peer: { uid: martlet }", "callers[0].peer.uid: expected a whole number"),
        ("peer: { uid: 4294967295 }", "callers[0].peer.uid: must be between 0 and 4294967294"),
        ("peer: { uid: 1, user: 1 }", "callers[0].peer.user: unknown key, there are uid, gid"),
    ])
    func `a fault in a proof is reported with its position`(text: String, fault: String) {
        let found = faults(of: SampleFile().adding("callers: [{ name: a, \(text) }]").text)
        #expect(found.first?.contains(fault) == true, "\(found)")
    }

    @Test(arguments: [
        (
            "certificate: { san: b }", "certificate: { san: B }",
            "callers[1].certificate: is the certificate of callers[0] too"
        ),
        ("peer: { uid: 1 }", "peer: { uid: 1 }", "callers[1].peer: is the peer of callers[0] too"),
    ])
    func `two callers can't have the same proof`(one: String, other: String, fault: String) {
        let text = SampleFile().adding("callers: [{ name: a, \(one) }, { name: b, \(other) }]").text
        let found = faults(of: text)
        #expect(found.count == 1 && found.first?.hasSuffix(fault) == true, "\(found)")
    }

    /// Subjects as versions of `openssl` print them without the RFC 2253 option, or with escapes that we refuse.
    @Test(arguments: [
        "CN = batch, O = Acme", "CN=batch, O=Acme", "C = DE, O = \"Acme, Inc.\", CN = batch", "/C=DE/O=Acme/CN=batch",
        "CN=batch,Acme", "CN=batch,", "=batch", "CN=batch\\", "CN=Stra\\C3\\9Fe",
        "O=\"Acme\"", "CN=a;b", "CN=a+b",
    ])
    func `an unusable subject is refused with the command that prints a usable one`(subject: String) {
        let text = SampleFile().adding("callers: [{ name: a, certificate: { subject: '\(subject)' } }]").text
        let found = faults(of: text)
        #expect(
            found.first?
                .hasSuffix("; to print one: openssl x509 -noout -subject -nameopt RFC2253,utf8,-esc_msb -in FILE")
                == true,
            "\(found)"
        )
    }

    @Test(
        arguments: [
            ("{ gid: 50 }", "{ uid: 7, gid: 50 }", true), ("{ uid: 7 }", "{ uid: 7, gid: 50 }", true),
            ("{ uid: 7, gid: 50 }", "{ gid: 50 }", false), ("{ gid: 50 }", "{ uid: 7 }", false),
            ("{ gid: 50 }", "{ uid: 7, gid: 51 }", false), ("{ uid: 7, gid: 50 }", "{ uid: 7, gid: 51 }", false),
        ]
    )
    func `a peer that an earlier one covers gets a warning`(first: String, later: String, isCovered: Bool) throws {
        let callers = "callers: [{ name: a, peer: \(first) }, { name: b, peer: \(later) }]"
        let warnings = try settings(of: SampleFile().adding(callers).text).warnings
        let said = warnings.filter { $0.message.hasPrefix("is never used: callers[0] comes first") }
        #expect(said.map(\.path) == (isCovered ? ["callers[1].peer"] : []))
    }

    @Test func `proofs that no listener asks for get a warning`() throws {
        let text = SampleFile().adding("callers: [{ name: a, certificate: { san: b }, peer: { uid: 1 } }]").text
        let settings = try settings(of: text)
        #expect(
            settings.warnings.map(\.message) == [
                "no listener asks for certificates, see client_ca of its tls", "no listener is a Unix socket",
            ]
        )
    }
}
