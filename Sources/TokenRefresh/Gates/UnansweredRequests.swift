package import TokenModel

/// Bounds how many token requests wait for one provider that answers none of them.
///
/// A token request is listened for long after its callers were told that it failed: hanging up would lose what the provider
/// has rotated. Were new ones sent all the while, a provider that hangs would collect one connection for each account. So
/// while 64 have gone unanswered for longer than a caller waits, and none was answered within that time, one is sent every
/// 2 s to find out.
package struct UnansweredRequests: Equatable, Sendable {
    private var sentAt: [AccountID: BootInstant] = [:]
    private var answeredAt: BootInstant?
    private var probedAt: BootInstant?

    package init() {}

    static let most = 64
    static let probeInterval = Duration.seconds(2)

    /// A token request of `account` is on its way.
    package mutating func sent(for account: AccountID, now: BootInstant) { self.sentAt[account] = now }

    /// It is over. Harmless where none was on its way.
    package mutating func ended(for account: AccountID, wasAnswered: Bool, now: BootInstant) {
        guard self.sentAt.removeValue(forKey: account) != nil, wasAnswered else { return }
        self.answeredAt = now
    }

    /// How long to wait before asking would help; `nil` where a request may be sent.
    ///
    /// - Parameter timeout: how long callers wait for the provider.
    package func obstacle(timeout: Duration, now: BootInstant) -> Duration? {
        guard self.sentAt.count >= Self.most, self.answeredAt.map({ $0.duration(to: now) > timeout }) ?? true,
            self.sentAt.values.count(where: { $0.duration(to: now) > timeout }) >= Self.most, let probedAt
        else { return nil }
        let wait = Self.probeInterval - probedAt.duration(to: now)
        return wait > .zero ? wait : nil
    }

    /// A request is about to be sent: it is the one that finds out, where others are held up.
    package mutating func admitted(now: BootInstant) { self.probedAt = now }
}
