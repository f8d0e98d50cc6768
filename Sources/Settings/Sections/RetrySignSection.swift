internal import TextCoding

/// The keys of a member of a route's `retry_on`.
enum RetrySignKey: String, Vocabulary {
    case status, json
}

extension RetrySign {
    private static let limit = 16

    /// Reads `retry_on`.
    static func list(_ place: Place) -> [RetrySign]? {
        guard let items = place.items() else { return nil }
        if items.count > Self.limit { place.fault("has more than \(Self.limit) members") }
        var first: [RetrySign: Int] = [:]
        return items.enumerated().compactMap { index, item in
            guard let sign = RetrySign(item) else { return nil }
            if let other = first[sign] { item.fault("says the same as retry_on[\(other)]") }
            first[sign] = first[sign] ?? index
            return sign
        }
    }

    private init?(_ place: Place) {
        guard let section = Section<RetrySignKey>(place) else { return nil }
        let status = section.require(.status) { $0.count(in: 200...599) }
        let json = section.read(.json) { $0.topLevelPattern() }
        if let status, status < 400, !section.has(.json) {
            section[.status]?.fault("is no sign by itself below 400: every such answer would cost a refresh, add json")
        }
        guard let status, section[.json] == nil || json != nil else { return nil }
        self.status = status
        self.json = json
    }
}

extension Place {
    fileprivate func topLevelPattern() -> JSONPattern? {
        guard case .mapping = self.content else {
            self.expected("a mapping")
            return nil
        }
        return self.jsonPattern()
    }

    /// A JSON value in YAML syntax: `false`, `190` and `null` mean the same as in JSON; in quotes they are text.
    fileprivate func jsonPattern(depth: Int = 1) -> JSONPattern? {
        switch self.content {
        case .nothing: return .null
        case .text("true", isPlain: true): return .flag(true)
        case .text("false", isPlain: true): return .flag(false)
        case .text(let text, isPlain: true):
            if let number = Self.jsonNumber(text) { return .number(number) }
            return self.text().map { .text($0) }
        case .text: return self.text(allowingEmpty: true).map { .text($0) }
        case .mapping: return self.jsonObject(depth: depth)
        case .list, .tagged:
            self.expected("text, a number, true, false, null or a mapping")
            return nil
        }
    }

    private func jsonObject(depth: Int) -> JSONPattern? {
        guard let members = self.members() else { return nil }
        guard !members.isEmpty else {
            self.fault("is empty: name a member that tells of a dead token, such as { error: expired }")
            return nil
        }
        // The scanner reads no response with deeper nesting.
        guard depth <= JSONScanner.deepest else {
            self.fault("is nested too deep")
            return nil
        }
        var patterns: [String: JSONPattern] = [:]
        // Every member is read before the count is checked, so that all faults are reported at once.
        for member in members { patterns[member.name] = member.place.jsonPattern(depth: depth + 1) }
        return patterns.count == members.count ? .object(patterns) : nil
    }

    private static func jsonNumber(_ text: String) -> Double? {
        let bytes = Array(text.utf8)
        var scanner = JSONScanner(at: 0)
        guard let number = try? scanner.number(bytes.span), scanner.position == bytes.count, number.isFinite else {
            return nil
        }
        return number
    }
}
