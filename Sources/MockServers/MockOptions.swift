/// Where the mock listens and how it behaves.
package struct MockOptions: Sendable {
    /// Two PEM files.
    package struct TLSFiles: Sendable, Equatable {
        /// The certificate, and behind it the chain.
        package let certificate: String
        package let privateKey: String

        package init(certificate: String, privateKey: String) {
            self.certificate = certificate
            self.privateKey = privateKey
        }
    }

    /// A name or an address of this machine.
    package var host: String

    /// 0 lets the system choose.
    package var port: Int

    /// Nil for HTTP in the clear.
    package var tls: TLSFiles?

    /// How tokens live and die.
    package var rules: TokenRules

    /// Access tokens are random strings instead of signed JWTs.
    package var opaqueTokens: Bool

    package init(
        host: String = "127.0.0.1",
        port: Int = 0,
        tls: TLSFiles? = nil,
        rules: TokenRules = TokenRules(),
        opaqueTokens: Bool = false
    ) {
        self.host = host
        self.port = port
        self.tls = tls
        self.rules = rules
        self.opaqueTokens = opaqueTokens
    }

    /// `http`, or `https` with a certificate.
    package var scheme: String { self.tls == nil ? "http" : "https" }
}
