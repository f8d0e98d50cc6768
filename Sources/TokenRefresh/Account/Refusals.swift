package import TokenModel

/// Decides which 401s lead to a refresh: an upstream that says 401 to everything must not rotate a grant for ever.
///
/// A 401 refreshes the token set it was about. Where the first answer to what that brought, or to what another replica has
/// put in its place, is a 401 again, no 401 refreshes this account for 60 s. A token set that some upstream took is *proven*: a later 401 means it has died.
package struct Refusals: Equatable, Sendable {
    private var brought: (tokenVersion: TokenVersion, at: BootInstant)?
    private var proven: TokenVersion?
    private var quietUntil = BootInstant.distantPast

    package init() {}

    /// How long refreshes by 401 rest, and how long a token set counts as just brought.
    package static let quietTime = Duration.seconds(60)

    /// Whether a 401 to `tokenVersion`, the current token set, is to refresh it. A "no" starts, or is within, the quiet time.
    package mutating func mayRefresh(_ tokenVersion: TokenVersion, now: BootInstant) -> Bool {
        guard now >= self.quietUntil else { return false }
        // Where it is another than was brought, another replica has replaced that, perhaps for a 401 too.
        if let brought, self.proven != brought.tokenVersion, self.proven != tokenVersion,
            brought.at.duration(to: now) < Self.quietTime
        {
            self.quietUntil = now.advanced(by: Self.quietTime)
        }
        return now >= self.quietUntil
    }

    /// A request met a 401 with `tokenVersion`, which it had been given as the answer to a 401: refreshing is of no use. Another
    /// replica may have put yet another token set in its place by now.
    package mutating func refusedAgain(_ tokenVersion: TokenVersion, now: BootInstant) {
        guard self.brought?.tokenVersion == tokenVersion, self.proven != tokenVersion else { return }
        self.quietUntil = now.advanced(by: Self.quietTime)
    }

    /// `tokenVersion` was handed to somebody as the answer to a 401.
    package mutating func brings(_ tokenVersion: TokenVersion, now: BootInstant) {
        guard self.brought?.tokenVersion != tokenVersion else { return }
        self.brought = (tokenVersion, now)
    }

    /// An upstream answered otherwise than 401 to `tokenVersion`.
    package mutating func proves(_ tokenVersion: TokenVersion) {
        self.proven = tokenVersion
    }

    package static func == (left: Refusals, right: Refusals) -> Bool {
        left.brought?.tokenVersion == right.brought?.tokenVersion && left.brought?.at == right.brought?.at
            && left.proven == right.proven && left.quietUntil == right.quietUntil
    }
}
