internal import OAuth
package import TokenModel
package import TokenStorage

/// The tokens of one provider that wait to be revoked. Each provider has its own, so that a slow one holds up no other.
///
/// The key of a waiting token is `revocations/~PROVIDER/KIND/ACCOUNT/TOKEN`, each by a name that reveals nothing. So a
/// listing has the refresh tokens first, and those of one account are found without reading the others. Keys of earlier
/// versions have no `~` (``RevocationVault/lanes()``).
package struct RevocationLane: Hashable, Sendable {
    private let name: String

    /// The lane of a provider.
    package init(_ provider: ProviderID, in store: StoreID) {
        self.name = Self.name("provider", provider.rawValue, in: store)
    }

    /// The lane of a waiting token; `nil` for a key of an earlier version.
    init?(_ key: RecordKey) {
        let behind = key.rawValue.utf8.dropFirst(Self.start.utf8.count)
        guard key.rawValue.utf8.starts(with: Self.start.utf8), let end = behind.firstIndex(of: UInt8(ascii: "/")),
            let name = String(behind[..<end])
        else { return nil }
        self.name = name
    }

    private static let start = RecordKey.Prefix.revocations.rawValue + "~"

    /// The waiting tokens of one kind.
    func tokens(_ kind: RevocableToken) -> RecordKey.Prefix {
        RecordKey.Prefix(rawValue: "\(Self.start)\(self.name)/\(kind == .refreshToken ? 1 : 2)/")
    }

    /// The waiting tokens of one kind and account.
    func tokens(_ kind: RevocableToken, of account: AccountID, in store: StoreID) -> RecordKey.Prefix {
        RecordKey.Prefix(
            rawValue: "\(self.tokens(kind).rawValue)\(Self.name("account", account.rawValue, in: store))/"
        )
    }

    /// A key at a random place among the waiting tokens of one kind. Replicas begin at different places, so that they
    /// seldom meet at one token.
    func anywhere(_ kind: RevocableToken) -> RecordKey {
        RecordKey(rawValue: self.tokens(kind).rawValue + String(UInt64.drawn(in: .min ... .max), radix: 16))
    }

    /// A key behind all tokens of the lane, and before those of the next one.
    var end: RecordKey { RecordKey(rawValue: "\(Self.start)\(self.name)0") }

    private static func name(_ kind: String, _ text: String, in store: StoreID) -> String {
        String(store.name(of: Secret("\(kind)\0\(text)")).prefix(16))
    }
}
