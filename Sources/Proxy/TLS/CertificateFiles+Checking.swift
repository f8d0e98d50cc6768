import NIOSSL

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
