/// What keeps a command and what listens at an `https://` address from coming to terms about TLS.
package enum HandshakeFault: Sendable {
    /// What listens there speaks without TLS.
    case notTLS
    /// Its certificate is none that this host trusts, or another name's.
    case untrusted

    /// Reads what TLS threw; only its text tells what it was. `nil` for anything else.
    ///
    /// - Parameter error: the error, as text.
    package init?(_ error: String) {
        switch error {
        case let text where text.contains("WRONG_VERSION_NUMBER"): self = .notTLS
        case let text where text.contains("CERTIFICATE_VERIFY_FAILED"): self = .untrusted
        default: return nil
        }
    }

    /// What is wrong there, and what helps.
    package var text: String {
        switch self {
        case .notTLS:
            "what listens there speaks plain HTTP, without TLS: name it with http://, on loopback or through a tunnel, "
                + "since the admin token goes there in the clear"
        case .untrusted: "its certificate is not one that this host trusts for that name"
        }
    }
}
