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
