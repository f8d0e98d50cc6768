package import TokenStorage

extension AccountRecord {
    /// Binds the tokens to another provider, token endpoint or client, because an operator said so.
    ///
    /// The record keeps the knowledge that the refresh token may be spent. It drops other failures, which concerned the
    /// previous client.
    package mutating func adopt(_ binding: Binding) {
        self.bind(to: binding)
        if self.failureRecord?.spent == .maybe {
            self.failureRecord?.dead = false
            self.failureRecord?.retryIn = .zero
        } else {
            self.failureRecord = nil
        }
    }
}
