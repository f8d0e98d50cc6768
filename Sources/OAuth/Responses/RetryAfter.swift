internal import TokenModel

/// How long to wait, out of a `Retry-After` field (RFC 9110 §10.2.3): seconds or a date, held to what is sane.
enum RetryAfter {
    static let shortest: Duration = .seconds(1)
    static let longest: Duration = .seconds(300)
    /// Where the field is missing or says nothing that can be read.
    static let unspecified: Duration = .seconds(30)

    static func read(_ text: String?, now: WallTime) -> Duration {
        guard let text else { return Self.unspecified }
        if let seconds = ResponseValue.string(Secret(text)).asNumber ?? Self.longNumber(text) {
            return Self.clamp(seconds)
        }
        if let date = HTTPDate.read(text) {
            return min(max(now.duration(to: date), Self.shortest), Self.longest)
        }
        return Self.unspecified
    }

    private static func clamp(_ seconds: Double) -> Duration {
        if seconds <= 1 { return Self.shortest }
        if seconds >= 300 { return Self.longest }
        return .milliseconds(Int64(seconds * 1000))
    }

    /// Digits beyond what a number needs, or with zeros before it, are still a number of seconds.
    private static func longNumber(_ text: String) -> Double? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Double(text)
    }
}
