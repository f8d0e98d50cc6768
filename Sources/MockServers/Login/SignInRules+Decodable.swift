extension SignInRules: Decodable {
    /// Reads all rules. An unknown member or value is an error that names it, because a rule that silently does nothing
    /// makes a test pass for the wrong reason.
    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: JSONKey.self)
        try values.refuseKeys(besides: Self.keys)
        self.init()
        self.account = try values.text("account")
        self.subject = try values.text("subject")
        self.error = try values.text("error")
        if let error = self.error, !Self.isErrorWord(error) {
            throw values.fault("has a character that an error may not have (RFC 6749 section 5.2)", at: "error")
        }
        self.errorDescription = try values.text("error_description")
        self.issuer = try values.decodeIfPresent(ParameterFlaw.self, forKey: "iss")
        self.state = try values.decodeIfPresent(ParameterFlaw.self, forKey: "state")
        self.scope = try values.text("scope")
        self.isRefreshable = try values.decodeIfPresent(Bool.self, forKey: "refresh_token") ?? true
        self.idToken = try values.decodeIfPresent(IDTokenFlaw.self, forKey: "id_token")
        self.metadata = try values.decodeIfPresent(Metadata.self, forKey: "metadata") ?? Metadata()
        self.asksForConsent = try values.decodeIfPresent(Bool.self, forKey: "consent") ?? false
        self.deviceInterval = try values.number("device_interval").map { .seconds($0) } ?? DeviceCodes.interval
        self.deviceLifetime = try values.number("device_expires_in").map { .seconds($0) } ?? DeviceCodes.lifetime
        self.slowDowns = try values.number("slow_down") ?? 0
        self.tokenDelay = try values.duration("token_delay")
    }

    private static let keys = [
        "account", "subject", "error", "error_description", "iss", "state", "scope", "refresh_token", "id_token",
        "metadata", "consent", "device_interval", "device_expires_in", "slow_down", "token_delay",
    ]

    private static func isErrorWord(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }
}

extension SignInRules.Metadata: Decodable {
    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: JSONKey.self)
        try values.refuseKeys(besides: ["par", "par_required", "iss", "device"])
        self.init()
        self.namesPAR = try values.decodeIfPresent(Bool.self, forKey: "par") ?? true
        self.requiresPAR = try values.decodeIfPresent(Bool.self, forKey: "par_required") ?? false
        self.promisesIssuer = try values.decodeIfPresent(Bool.self, forKey: "iss") ?? true
        self.namesDevice = try values.decodeIfPresent(Bool.self, forKey: "device") ?? true
    }
}
