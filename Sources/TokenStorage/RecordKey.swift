/// Where a record stands: a few segments joined by `/`, such as `accounts/alice`.
package struct RecordKey: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// The tokens of one account.
    package static func account(_ account: String) -> RecordKey { RecordKey(rawValue: "accounts/\(account)") }

    /// The record that opens only under the right key and names the store.
    package static let canary = RecordKey(rawValue: "canary")

    package var description: String { self.rawValue }

    /// By UTF-8 bytes, as every driver sorts.
    package static func < (left: RecordKey, right: RecordKey) -> Bool {
        left.rawValue.utf8.lexicographicallyPrecedes(right.rawValue.utf8)
    }

    /// All keys that begin with a first segment.
    package struct Prefix: Hashable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        package static let accounts = Prefix(rawValue: "accounts/")

        /// Whether `key` stands under this prefix.
        package func contains(_ key: RecordKey) -> Bool { key.rawValue.hasPrefix(self.rawValue) }
    }
}
