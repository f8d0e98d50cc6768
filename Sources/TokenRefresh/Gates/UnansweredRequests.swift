package import TokenModel

/// Limits how many token requests wait for one provider that responds to none of them.
///
/// Martlet waits for the response to a token request long after its callers were told that the refresh failed, since
/// closing the connection would lose what the provider has rotated. If new requests were sent meanwhile, a provider
/// that hangs would collect one connection per account. So one request every 2 s probes the provider while 64 requests
/// have had no response for longer than a caller waits and no response came within that time.
package struct UnansweredRequests: Equatable, Sendable {
    private var sentAt: [AccountID: BootInstant] = [:]
    private var answeredAt: BootInstant?
    private var probedAt: BootInstant?

    package init() {}

    static let most = 64
    static let probeInterval = Duration.seconds(2)

    /// Records that a token request of `account` is being sent.
    package mutating func sent(for account: AccountID, now: BootInstant) { self.sentAt[account] = now }

    /// Records that the token request of `account` has ended. Has no effect if there is none.
    package mutating func ended(for account: AccountID, wasAnswered: Bool, now: BootInstant) {
        guard self.sentAt.removeValue(forKey: account) != nil, wasAnswered else { return }
        self.answeredAt = now
    }

    /// How long to wait before a request would help; `nil` if a request may be sent.
    ///
    /// - Parameter timeout: how long callers wait for the provider.
    package func obstacle(timeout: Duration, now: BootInstant) -> Duration? {
        guard self.sentAt.count >= Self.most, self.answeredAt.map({ $0.duration(to: now) > timeout }) ?? true,
            self.sentAt.values.count(where: { $0.duration(to: now) > timeout }) >= Self.most, let probedAt
        else { return nil }
        let wait = Self.probeInterval - probedAt.duration(to: now)
        return wait > .zero ? wait : nil
    }

    /// Records that a request is about to be sent. It is the probe if other requests are held up.
    package mutating func admitted(now: BootInstant) { self.probedAt = now }
}
