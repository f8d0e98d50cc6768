internal import NIOSSL
internal import SystemSupport

/// The certificate that the client presents to a provider (RFC 8705), and its key, each in a PEM file.
package struct TLSIdentity: Sendable, Equatable {
    /// The client's certificate first, then the other certificates of its chain.
    package let certificate: String
    /// Protected as ``SecretFile`` requires, and without a passphrase.
    package let key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    func read(into configuration: inout TLSConfiguration) throws(ProviderSettingsError) {
        guard let certificates = try? NIOSSLCertificate.fromPEMFile(self.certificate), !certificates.isEmpty else {
            throw ProviderSettingsError(
                .identityUnusable,
                "no certificates could be read from \(self.certificate): it must be a PEM file that this user may read"
            )
        }
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try SecretFile.contents(of: self.key)
        } catch {
            throw ProviderSettingsError(.identityUnusable, "the key file \(self.key) \(error.message)")
        }
        guard let key = try? NIOSSLPrivateKey(bytes: bytes, format: .pem) else {
            throw ProviderSettingsError(
                .identityUnusable,
                "\(self.key) holds no key in PEM form without a passphrase"
            )
        }
        configuration.certificateChain = certificates.map { .certificate($0) }
        configuration.privateKey = .privateKey(key)
        // Without this check, the fault would appear only with the first request.
        do {
            _ = try NIOSSLContext(configuration: configuration)
        } catch {
            throw ProviderSettingsError(
                .identityUnusable,
                "TLS can't use the certificate in \(self.certificate) with the key in \(self.key)"
            )
        }
    }
}
