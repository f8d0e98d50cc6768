package import TokenModel

/// An issuer as one text.
extension TokenIssuer {
    /// `nil` where the origin says it all.
    package var tokenVersion: String? {
        switch self {
        case .issuer(let issuer, let endpoint?): "by \(issuer) at \(endpoint)"
        case .issuer(let issuer, nil): "by \(issuer)"
        case .tokenEndpoint(let endpoint): "at \(endpoint)"
        case .origin: nil
        }
    }

    /// `nil` for any other text.
    package init?(mark: String) {
        let words = mark.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        switch (words[0], words.count) {
        case ("by", 4) where words[2] == "at": self = .issuer(words[1], tokenEndpoint: words[3])
        case ("by", 2): self = .issuer(words[1], tokenEndpoint: nil)
        case ("at", 2): self = .tokenEndpoint(words[1])
        default: return nil
        }
    }
}
