import OAuth
import TokenModel
import TokenRefresh
import TokenStorage

let alice = AccountID("alice")
let acme = ProviderID("acme")
let origin = "https://login.acme.example:443"

extension AccountRecord.Binding {
    static let acme = AccountRecord.Binding(
        provider: ProviderID("acme"),
        issuer: .tokenEndpoint("\(origin)/token"),
        clientID: "my-app"
    )
}

extension Moment {
    /// An hour after boot, on 2026-01-01.
    static let start = Moment(
        boot: BootInstant(nanoseconds: 3_600_000_000_000),
        wall: WallTime(millisecondsSince1970: 1_767_225_600_000)
    )

    func advanced(by duration: Duration) -> Moment {
        Moment(boot: self.boot.advanced(by: duration), wall: self.wall.advanced(by: duration))
    }
}

extension TokenSet {
    /// By default received at the start and valid for an hour.
    static func sample(
        _ number: Int = 0,
        receivedAt: WallTime = Moment.start.wall,
        lifetime: Duration = .seconds(3_600)
    )
        -> TokenSet
    {
        TokenSet(
            accessToken: Secret("at-\(number)"),
            refreshToken: Secret("rt-\(number)"),
            receivedAt: receivedAt,
            lifetime: lifetime
        )
    }
}

extension AccountRecord {
    /// By default the first generation. Its access token expired an hour before the start.
    static func expired(grant: GrantID = GrantID("g"), generation: UInt64 = 1) -> AccountRecord {
        AccountRecord(
            grant: grant,
            generation: Generation(generation),
            tokens: .sample(0, receivedAt: Moment.start.wall.advanced(by: .seconds(-7_200))),
            observedEpoch: Epoch(7),
            binding: .acme
        )
    }

    /// By default the first generation. Its access token is valid for an hour from the start.
    static func valid(grant: GrantID = GrantID("g"), generation: UInt64 = 1) -> AccountRecord {
        var record = AccountRecord.expired(grant: grant, generation: generation)
        record.tokens = .sample(0)
        return record
    }

    func with(_ change: (inout AccountRecord) -> Void) -> AccountRecord {
        var record = self
        change(&record)
        return record
    }
}

extension AccountRecord.FailureRecord {
    static func sample(
        tries: Int = 1,
        spent: Spent = .no,
        retryIn: Duration = .zero,
        dead: Bool = false,
        reason: String = "not_sent.connect_failed"
    ) -> AccountRecord.FailureRecord {
        AccountRecord.FailureRecord(tries: tries, spent: spent, retryIn: retryIn, dead: dead, reason: reason)
    }
}

extension TokenGrant {
    static func sample(_ number: Int = 1, lifetime: Duration = .seconds(3_600), rotates: Bool = true) -> TokenGrant {
        TokenGrant(
            accessToken: Secret("at-\(number)"),
            refreshToken: rotates ? Secret("rt-\(number)") : nil,
            lifetime: lifetime
        )
    }
}

extension UpstreamCredential {
    static func sample(
        generation: UInt64 = 1,
        token: String = "at-0",
        usableUntil: BootInstant = Moment.start.boot.advanced(by: .seconds(3_600)),
        isGrantRefused: Bool = false
    ) -> UpstreamCredential {
        UpstreamCredential(
            account: alice,
            provider: acme,
            grant: GrantID("g"),
            generation: Generation(generation),
            observedEpoch: Epoch(7),
            accessToken: Secret(token),
            usableUntil: usableUntil,
            isGrantRefused: isGrantRefused
        )
    }
}

extension VerdictReason {
    /// The reason with an error code of the provider.
    static func code(_ code: String) -> VerdictReason { VerdictReason(code) ?? .noKnownReason }
}

extension Secret {
    /// The secret as text. Test tokens need no protection.
    var text: String {
        self.withUnredacted { span in
            var bytes: [UInt8] = []
            for index in span.indices { bytes.append(span[index]) }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}
