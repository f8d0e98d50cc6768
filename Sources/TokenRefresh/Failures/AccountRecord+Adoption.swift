package import TokenStorage

extension AccountRecord {
    /// Binds the tokens to another provider, token endpoint or client, by an operator's word.
    ///
    /// What is known of the refresh token's use goes along; other troubles were with the client before.
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
