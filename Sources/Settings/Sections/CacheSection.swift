/// The keys of a route's `cache`.
enum CacheKey: String, Vocabulary {
    case share
    case maxSize = "max_size"
    case maxObject = "max_object"
    case defaultTTL = "default_ttl"
    case staleIfError = "stale_if_error"
    case keyFields = "key_fields"
}

extension CacheSharing: Vocabulary {}

extension CacheSettings {
    /// Reads a route's `cache`; `nil` if it is no mapping.
    ///
    /// - Parameters:
    ///   - injected: the name of the field that carries the token.
    ///   - passesCookies: whether the route forwards cookies.
    init?(_ place: Place, injected: String, passesCookies: Bool) {
        guard let section = Section<CacheKey>(place) else { return nil }
        if passesCookies {
            place.faultAtKey(
                "can't be used with cookies: true, since a session makes responses differ: take one of the two out"
            )
        }
        let maxSize = section.read(.maxSize) { $0.size(in: (1 << 20)...(1 << 40)) }
        let maxObject = section.read(.maxObject) { $0.size(in: (1 << 10)...(1 << 30)) } ?? 1 << 20
        self.maxSize = maxSize ?? 256 << 20
        self.maxObject = maxObject
        // A wrong max_size has a fault already.
        if maxObject > self.maxSize, maxSize != nil || !section.has(.maxSize) {
            section[.maxObject]?.fault("must not be more than max_size, which is \(Quantity.text(self.maxSize))")
        }
        self.defaultTTL = section.read(.defaultTTL) { $0.seconds(upTo: .hours(8_760)) } ?? 0
        self.staleIfError = section.read(.staleIfError) { $0.seconds(upTo: .hours(8_760)) } ?? 0
        self.share = section.read(.share) { $0.choice(CacheSharing.self) } ?? .caller
        self.keyFields = section.read(.keyFields) { $0.keyFields(injected: injected) } ?? []
    }
}

extension Place {
    /// The most members of `key_fields`: each costs time in every request.
    private static var mostKeyFields: Int { 16 }

    /// A duration in whole seconds, the unit of HTTP's own ages.
    fileprivate func seconds(upTo longest: Duration) -> Int? {
        guard let duration = self.duration(in: .zero...longest) else { return nil }
        guard duration.components.attoseconds == 0 else {
            self.fault("must be whole seconds")
            return nil
        }
        return Int(duration.components.seconds)
    }

    fileprivate func keyFields(injected: String) -> [String]? {
        guard let items = self.items() else { return nil }
        if items.count > Self.mostKeyFields { self.fault("has more than \(Self.mostKeyFields) members") }
        var first: [String: Int] = [:]
        return items.enumerated().compactMap { index, item in
            let name = item.parsed { text throws(ValueError) in
                try KeyField.checkName(text, injected: injected)
                return text.lowercased()
            }
            guard let name else { return nil }
            if let other = first[name] { item.fault("says the same as key_fields[\(other)]") }
            first[name] = first[name] ?? index
            return name
        }
    }
}

/// The rules for a field whose value tells stored responses apart: the caller's value must reach the upstream.
private enum KeyField {
    /// Fields that a route with a cache never forwards, besides those that ``InjectedField`` refuses.
    private static let removed: Set<String> = [
        "authorization", "cookie", "x-real-ip", "x-original-url", "x-rewrite-url",
    ]

    static func checkName(_ name: String, injected: String) throws(ValueError) {
        try InjectedField.checkName(name)
        let read = InjectedField.read(name)
        guard read != InjectedField.read(injected) else {
            throw ValueError("is the field that carries the token: the account tells responses apart already")
        }
        guard !Self.removed.contains(read), !read.hasPrefix("x-forwarded-") else {
            throw ValueError("is a field that the gateway itself writes or removes")
        }
    }
}
