extension AdminClient {
    /// Of what is killed, all that an account is a part of: each has to be revived before it can have tokens again. Empty
    /// where it is not killed, and where the gateway does not say, as one of before.
    func kills(of account: AccountReply) async -> [ScopeReply] {
        guard account.state == "killed", let reply = try? await self.send(.status.within(.seconds(5))),
            let killed = try? reply.read(StatusReply.self).killed
        else { return [] }
        return killed.filter { $0.holds(account) }
    }
}

extension ScopeReply {
    /// Whether an account is a part of it.
    package func holds(_ account: AccountReply) -> Bool {
        self.all == true || self.provider == account.provider || self.account == account.name
    }
}
