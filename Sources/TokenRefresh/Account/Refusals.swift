package import TokenModel

/// Decides which 401 responses lead to a refresh. An upstream that responds 401 to everything must not rotate a grant
/// forever.
///
/// A 401 refreshes the token set that the request carried. If the first response to the new token set is a 401 again,
/// no 401 refreshes this account for 60 s. The same holds for a token set that another replica has put in its place. A
/// token set that some upstream accepted is *proven*: a later 401 means that it has died.
package struct Refusals: Equatable, Sendable {
    private var brought: (tokenVersion: TokenVersion, at: BootInstant)?
    private var proven: TokenVersion?
    private var quietUntil = BootInstant.distantPast

    package init() {}

    /// How long 401 responses lead to no refresh, and how long a token set counts as new.
    package static let quietTime = Duration.seconds(60)

    /// Whether a 401 to `tokenVersion`, the current token set, leads to a refresh. `false` means that the quiet time
    /// starts or is in progress.
    package mutating func mayRefresh(_ tokenVersion: TokenVersion, now: BootInstant) -> Bool {
        guard now >= self.quietUntil else { return false }
        // If `tokenVersion` is not `brought`, another replica has replaced the latter, perhaps because of a 401 too.
        if let brought, self.proven != brought.tokenVersion, self.proven != tokenVersion,
            brought.at.duration(to: now) < Self.quietTime
        {
            self.quietUntil = now.advanced(by: Self.quietTime)
        }
        return now >= self.quietUntil
    }

    /// Records that a request got a 401 with `tokenVersion`, which it had received because of an earlier 401.
    /// Refreshing does not help then. Another replica may have replaced this token set by now.
    package mutating func refusedAgain(_ tokenVersion: TokenVersion, now: BootInstant) {
        guard self.brought?.tokenVersion == tokenVersion, self.proven != tokenVersion else { return }
        self.quietUntil = now.advanced(by: Self.quietTime)
    }

    /// Records that a caller got `tokenVersion` because of a 401.
    package mutating func brings(_ tokenVersion: TokenVersion, now: BootInstant) {
        guard self.brought?.tokenVersion != tokenVersion else { return }
        self.brought = (tokenVersion, now)
    }

    /// Records that an upstream gave another response than 401 to `tokenVersion`.
    package mutating func proves(_ tokenVersion: TokenVersion) {
        self.proven = tokenVersion
    }

    package static func == (left: Refusals, right: Refusals) -> Bool {
        left.brought?.tokenVersion == right.brought?.tokenVersion && left.brought?.at == right.brought?.at
            && left.proven == right.proven && left.quietUntil == right.quietUntil
    }
}
