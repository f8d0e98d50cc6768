/// Why the TLS handshake with an `https://` address failed.
package enum HandshakeFault: Sendable {
    /// The server there speaks without TLS.
    case notTLS
    /// The certificate is not trusted by this host, or it is for another name.
    case untrusted

    /// Recognizes an error from TLS by its text, because the error has no other detail; `nil` for other errors.
    ///
    /// - Parameter error: the error's text.
    package init?(_ error: String) {
        switch error {
        case let text where text.contains("WRONG_VERSION_NUMBER"): self = .notTLS
        case let text where text.contains("CERTIFICATE_VERIFY_FAILED"): self = .untrusted
        default: return nil
        }
    }

    /// What is wrong, and what helps.
    package var text: String {
        switch self {
        case .notTLS:
            "what listens there speaks plain HTTP, without TLS: name it with http://, on loopback or through a tunnel, "
                + "since the admin token goes there in the clear"
        case .untrusted: "its certificate is not one that this host trusts for that name"
        }
    }
}
