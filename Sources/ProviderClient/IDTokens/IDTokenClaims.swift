internal import TextCoding
internal import TokenModel

/// The claims of an ID token whose signature is verified (OpenID Connect Core 1.0 §2).
struct IDTokenClaims {
    private let issuer: String
    private let subject: String
    private let audiences: [String]
    private let authorizedParty: String?
    private let expiry: Double
    private let issuedAt: Double
    private let notBefore: Double?
    private let nonce: String?

    /// How far clocks may differ, in seconds, beyond what is known of the provider's.
    private static let leeway: Double = 60

    init(_ payload: [UInt8]) throws(IDTokenError) {
        guard let fields = JSONFields(payload) else {
            throw IDTokenError(.unreadable, "the claims of the ID token are not one JSON object")
        }
        guard let issuer = fields.text("iss"), let subject = fields.text("sub"),
            let audiences = Self.audiences(fields["aud"]), let expiry = fields.number("exp"),
            let issuedAt = fields.number("iat")
        else { throw IDTokenError(.unreadable, "the ID token lacks iss, sub, aud, exp or iat") }
        guard (1...255).contains(subject.utf8.count) else {
            throw IDTokenError(.unreadable, "the sub of the ID token is empty, or longer than 255 bytes")
        }
        // A claim of another type is not the same as none.
        for name in ["azp", "nonce"] where fields[name] != nil && fields.text(name) == nil {
            throw IDTokenError(.unreadable, "the \(name) of the ID token is not text")
        }
        guard fields["nbf"] == nil || fields.number("nbf") != nil else {
            throw IDTokenError(.unreadable, "the nbf of the ID token is not a number")
        }
        self.issuer = issuer
        self.subject = subject
        self.audiences = audiences
        self.authorizedParty = fields.text("azp")
        self.expiry = expiry
        self.issuedAt = issuedAt
        self.notBefore = fields.number("nbf")
        self.nonce = fields.text("nonce")
    }

    /// `aud` is one string or an array of them.
    private static func audiences(_ value: JSONValue?) -> [String]? {
        guard case .array(let elements) = value else { return value?.text.map { [$0] } }
        let audiences = elements.compactMap(\.text)
        return audiences.count == elements.count ? audiences : nil
    }

    /// Checks the claims (§3.1.3.7) and returns `sub`.
    ///
    /// - Parameters:
    ///   - nonce: that of the request; `nil` if none was sent.
    ///   - now: the current time by the provider's clock.
    func subject(
        issuer: String,
        clientID: String,
        nonce: String?,
        now: WallTime
    ) throws(IDTokenError) -> String {
        guard self.issuer == issuer else {
            throw IDTokenError(.issuerDiffers, "the ID token is of another issuer than the configured one")
        }
        guard self.audiences.contains(clientID) else {
            throw IDTokenError(.audienceDiffers, "the ID token is for another client")
        }
        guard self.authorizedParty == clientID || self.authorizedParty == nil && self.audiences.count == 1 else {
            throw IDTokenError(.audienceDiffers, "the azp of the ID token is missing or another client")
        }
        let now = Double(now.millisecondsSince1970) / 1000
        guard now < self.expiry + Self.leeway else { throw IDTokenError(.expired, "the ID token has expired") }
        guard max(self.issuedAt, self.notBefore ?? self.issuedAt) <= now + Self.leeway else {
            throw IDTokenError(.expired, "the ID token is not valid yet: one of the clocks may be wrong")
        }
        if let nonce {
            // `Secret` compares in constant time.
            guard let received = self.nonce, Secret(received) == Secret(nonce) else {
                throw IDTokenError(.nonceDiffers, "the ID token is not the one that this sign-in asked for")
            }
        }
        return self.subject
    }
}
