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
