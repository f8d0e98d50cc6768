package import TokenModel

/// Values that each wait under a key nobody can guess, can be taken once, and expire.
package struct SingleUseEntries<Value: Sendable>: Sendable {
    /// How long a value can be taken.
    package let lifetime: Duration
    private var entries: [String: (value: Value, expiresAt: Moment)] = [:]

    package init(lifetime: Duration) {
        self.lifetime = lifetime
    }

    /// Keeps `value` until it is taken or expires.
    package mutating func add(_ value: Value, under key: String, at now: Moment) {
        self.entries[key] = (value, now.advanced(by: self.lifetime))
    }

    /// The value under `key`, which is then used up. Nil if it is unknown, taken or expired.
    package mutating func take(_ key: String, at now: Moment) -> Value? {
        guard let entry = self.entries.removeValue(forKey: key), now.boot < entry.expiresAt.boot else { return nil }
        return entry.value
    }
}
