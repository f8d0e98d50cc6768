import NIOSSL
import SystemSupport

/// A certificate and its key, each in a PEM file.
package struct CertificateFiles: Sendable, Hashable {
    /// File of the certificate itself, followed by the certificates that vouch for it.
    package let certificate: String
    /// File of the key, kept as ``SecretFile`` asks, and without a passphrase: nobody is there to type one.
    package let key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    /// Puts the contents of the files into `configuration`.
    func read(into configuration: inout TLSConfiguration) throws(ProxyError) {
        configuration.certificateChain = try Self.certificates(in: self.certificate).map { .certificate($0) }
        configuration.privateKey = .privateKey(try Self.key(in: self.key))
    }

    /// The TLS context for `configuration`. An error names the file whose contents TLS rejects.
    func context(_ configuration: TLSConfiguration) throws(ProxyError) -> RenewableContext {
        do {
            return try RenewableContext(configuration)
        } catch NIOSSLError.failedToLoadPrivateKey {
            throw ProxyError(
                .certificateUnusable,
                "the key in \(self.key) is not that of the first certificate in \(self.certificate)"
            )
        } catch {
            throw ProxyError(.certificateUnusable, "TLS can't use the certificate in \(self.certificate)")
        }
    }

    /// The key of a PEM file.
    static func key(in file: String) throws(ProxyError) -> NIOSSLPrivateKey {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try SecretFile.contents(of: file)
        } catch {
            throw ProxyError(.certificateUnusable, "the key file \(file) \(error.message)")
        }
        do {
            return try NIOSSLPrivateKey(bytes: bytes, format: .pem)
        } catch {
            throw ProxyError(.certificateUnusable, "\(file) holds no key in PEM form without a passphrase")
        }
    }

    /// All certificates of a PEM file, which must hold at least one.
    static func certificates(in file: String) throws(ProxyError) -> [NIOSSLCertificate] {
        guard let certificates = try? NIOSSLCertificate.fromPEMFile(file), !certificates.isEmpty else {
            throw ProxyError(
                .certificateUnusable,
                "no certificates could be read from \(file): it must be a PEM file that this user may read"
            )
        }
        return certificates
    }
}

/// Checks certificates before they are used; each check throws the error that their use would.
extension CertificateFiles {
    package static func check(certificates file: String) throws(ProxyError) { _ = try Self.certificates(in: file) }

    package static func check(key file: String) throws(ProxyError) { _ = try Self.key(in: file) }

    /// Checks that certificate and key belong together.
    package func check() throws(ProxyError) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        // Trust is not checked here, and reading the system's roots takes long.
        configuration.certificateVerification = .none
        try self.read(into: &configuration)
        _ = try self.context(configuration)
    }
}
