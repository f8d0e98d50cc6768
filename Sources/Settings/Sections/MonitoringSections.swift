/// The keys of `webhook`.
enum WebhookKey: String, Vocabulary {
    case url, secret
    case allowCleartext = "allow_cleartext"
}

extension WebhookSettings {
    /// Reads `webhook`; `nil` if a required value is missing or wrong.
    init?(_ place: Place) {
        guard let section = Section<WebhookKey>(place) else { return nil }
        let allowsCleartext = section.allows(.allowCleartext)
        let url = section.require(.url) { place -> HTTPURL? in
            guard let url = place.url() else { return nil }
            if url.isCleartext, !allowsCleartext {
                place.fault(
                    "events would travel unencrypted to \(url.host.authority): use https:// or add allow_cleartext: true"
                )
            }
            return url
        }
        let secret = section.require(.secret) { ClientSecret($0) }
        guard let url, let secret else { return nil }
        self.url = url
        self.secret = secret
    }
}

/// The keys of `metrics`.
enum MetricsKey: String, Vocabulary {
    case address
}

extension MetricsSettings {
    /// Reads `metrics`. Any address is allowed: metrics are read-only and contain no secrets, and the collector is
    /// often on another machine.
    init?(_ place: Place, besides listeners: [ListenerSettings], _ admin: AdminSettings) {
        guard let section = Section<MetricsKey>(place),
            let address = section.require(
                .address,
                { place in
                    place.parsed("an address") { text throws(ValueError) in try ListenerAddress(text) }
                }
            )
        else { return nil }
        let isAdmins = address.port != 0 && address == admin.address
        if let owner = address.owner(among: listeners) ?? (isAdmins ? "admin" : nil) {
            section[.address]?.fault("is the address of \(owner) too")
        }
        self.address = address
    }
}
