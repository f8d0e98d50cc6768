package import TokenModel

/// One of those who may use the gateway: how it proves itself, and what it may use.
package struct CallerPlan: Sendable {
    package var name: String
    /// Of each key that is taken.
    package var keys: [KeyDigest]
    /// By what it is known from its certificate; `nil`: by none.
    package var certificate: CertificateName?
    /// By what it is known over a Unix socket, where its requests have no key; `nil`: it needs one.
    package var peer: PeerRule?
    /// Names of the routes it may use; `nil` for all.
    package var routes: [String]?
    /// Accounts it may use; `nil` for all.
    package var accounts: [AccountID]?
    /// Methods it may use, as they stand in a request; `nil` for all. `GET` does not include `HEAD`.
    package var methods: [String]?

    package init(
        name: String,
        keys: [KeyDigest] = [],
        certificate: CertificateName? = nil,
        peer: PeerRule? = nil,
        routes: [String]? = nil,
        accounts: [AccountID]? = nil,
        methods: [String]? = nil
    ) {
        self.name = name
        self.keys = keys
        self.certificate = certificate
        self.peer = peer
        self.routes = routes
        self.accounts = accounts
        self.methods = methods
    }
}
