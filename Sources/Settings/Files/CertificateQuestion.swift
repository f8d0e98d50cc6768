package import OAuth

/// What a configuration asks of those who will use certificates: whether they could.
package enum CertificateQuestion: Hashable, Sendable {
    /// Whether a PEM file, at an absolute path, holds certificates.
    case certificates(String)
    /// Whether a PEM file holds a key.
    case key(String)
    /// Whether a PEM file holds a private key that can sign by an algorithm.
    case signingKey(String, SigningAlgorithm)
    /// Whether a certificate and its key, each of which will do by itself, are a pair.
    case pair(CertificateSettings)
}
