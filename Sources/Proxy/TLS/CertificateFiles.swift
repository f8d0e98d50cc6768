import LocalFiles
import NIOSSL

/// A certificate and its key, each in a PEM file.
package struct CertificateFiles: Sendable, Hashable {
    /// The certificate itself first, then those that vouch for it.
    package let certificate: String
    /// Kept as ``SecretFile`` asks, and without a passphrase: nobody is there to type one.
    package let key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    /// Puts what the files hold into `configuration`.
    func read(into configuration: inout TLSConfiguration) throws(ProxyError) {
        configuration.certificateChain = try Self.certificates(in: self.certificate).map { .certificate($0) }
        configuration.privateKey = .privateKey(try Self.key(in: self.key))
    }

    /// What TLS made of `configuration`, with the files' names where it would not take what they hold.
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

    /// All certificates of a PEM file, of which there must be one.
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

/// Whether certificates could be used, asked before anybody uses them; each throws what would keep them from it.
extension CertificateFiles {
    package static func check(certificates file: String) throws(ProxyError) { _ = try Self.certificates(in: file) }

    package static func check(key file: String) throws(ProxyError) { _ = try Self.key(in: file) }

    /// Whether they are a pair.
    package func check() throws(ProxyError) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        // Whom it would trust is not asked, and the system's roots take long to read.
        configuration.certificateVerification = .none
        try self.read(into: &configuration)
        _ = try self.context(configuration)
    }
}
