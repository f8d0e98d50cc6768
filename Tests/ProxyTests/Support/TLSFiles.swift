import NIOSSL
import Proxy
import TestKit

/// Certificates and keys in files, for a gateway to read.
struct TLSFiles {
    private let directory: TemporaryDirectory

    /// The content of each file by its name.
    private static let contents = [
        "server.pem": TestCertificates.selfSigned, "server.key": TestCertificates.selfSignedKey,
        "other.pem": TestCertificates.valid, "other.key": TestCertificates.serverKey,
        "other-ca.pem": TestCertificates.authority,
        "client.pem": TestCertificates.client, "client.key": TestCertificates.clientKey,
        "client-ca.pem": TestCertificates.clientAuthority,
        "nothing.pem": "not a certificate",
    ]

    init() throws {
        self.directory = try TemporaryDirectory()
        for (name, text) in Self.contents { try self.write(text, to: name) }
    }

    func write(_ text: String, to name: String) throws {
        try self.directory.write(Array(text.utf8), to: name)
        try self.directory.setMode(0o600, of: name)
    }

    func path(_ name: String) -> String { self.directory.path(of: name) }

    func setMode(_ mode: Int, of name: String) throws { try self.directory.setMode(mode, of: name) }

    /// The files of a certificate and its key.
    func pair(_ name: String, key: String? = nil) throws -> CertificateFiles {
        CertificateFiles(certificate: self.path("\(name).pem"), key: self.path("\(key ?? name).key"))
    }
}

extension NIOSSLContext {
    /// The TLS context of a caller that trusts `root`, and shows `identity` if there is one.
    static func caller(
        trusting root: String = TestCertificates.selfSigned,
        showing identity: (certificate: String, key: String)? = nil,
        _ change: (inout TLSConfiguration) -> Void = { _ in }
    ) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(root.utf8)))
        if let identity {
            let certificates = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificate.utf8))
            configuration.certificateChain = certificates.map { .certificate($0) }
            configuration.privateKey = .privateKey(try .init(bytes: Array(identity.key.utf8), format: .pem))
        }
        change(&configuration)
        return try NIOSSLContext(configuration: configuration)
    }
}
