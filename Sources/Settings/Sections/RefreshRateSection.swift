/// The keys of a provider's `refresh_rate`.
enum RefreshRateKey: String, Vocabulary {
    case burst
    case perSecond = "per_second"
}

extension RefreshRateSettings {
    init(_ section: Section<RefreshRateKey>) {
        self.perSecond = section.read(.perSecond) { $0.count(in: 1...100_000) } ?? Self.standard.perSecond
        self.burst = section.read(.burst) { $0.count(in: 1...1_000_000) } ?? Self.standard.burst
    }
}
