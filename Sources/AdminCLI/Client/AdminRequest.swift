internal import TokenModel

/// A request to the admin API.
package struct AdminRequest: Sendable {
    /// The methods that the API accepts.
    package enum Method: String, Sendable {
        case get = "GET"
        case put = "PUT"
        case post = "POST"
        case delete = "DELETE"
    }

    package let method: Method
    /// Percent-encoded.
    package let path: String
    /// JSON; empty for none.
    package let body: [UInt8]
    /// What is tried, such as `import tokens for alice`, for the message about a failure.
    package let attempt: String
    /// How long the response may take.
    package let patience: Duration
    /// `false` for requests that need no authorization.
    package let needsToken: Bool
    /// Advice if no gateway is there, so that nothing was sent.
    package var helpWithoutGateway: String

    private init(
        _ method: Method,
        _ path: String,
        _ attempt: String,
        body: [UInt8] = [],
        patience: Duration = .seconds(30),
        needsToken: Bool = true
    ) {
        self.method = method
        self.path = path
        self.attempt = attempt
        self.body = body
        self.patience = patience
        self.needsToken = needsToken
        self.helpWithoutGateway = path == Self.killPath ? Self.nothingWasKilled : Self.isItRunning
    }

    /// Whether the gateway is ready for callers.
    package static let readiness = AdminRequest(
        .get,
        "/readyz",
        "ask for the gateway's health",
        patience: .seconds(5),
        needsToken: false
    )
    /// Whether the process is alive, also when it is locked.
    package static let liveness = AdminRequest(
        .get,
        "/healthz",
        "ask whether the gateway is alive",
        patience: .seconds(5),
        needsToken: false
    )
    /// The process, its providers and its accounts.
    package static let status = AdminRequest(.get, "/v1/status", "show the status")
    /// A page of the accounts, sorted by name.
    package static func accounts(_ query: AccountQuery = AccountQuery()) -> AdminRequest {
        AdminRequest(.get, "/v1/accounts\(query.text)", "list the accounts")
    }

    /// One account.
    package static func account(_ name: String) -> AdminRequest {
        AdminRequest(.get, "/v1/accounts/\(Self.encoded(name))", "show account \(name)")
    }

    /// One account with its unrevoked tokens.
    package static func accountWithUnrevoked(_ name: String) -> AdminRequest {
        AdminRequest(.get, "/v1/accounts/\(Self.encoded(name))?unrevoked=true", "show account \(name)")
    }

    /// Replaces an account's tokens; `body` comes from ``TokenInput/body``.
    package static func importTokens(_ body: [UInt8], for name: String) -> AdminRequest {
        AdminRequest(.put, "/v1/accounts/\(Self.encoded(name))/tokens", "import tokens for \(name)", body: body)
    }

    /// Imports tokens for many accounts; the lines of the body come from an ``ImportInput``. Each batch takes the gateway a
    /// moment.
    package static func importMany(existing: ExistingPolicy) -> AdminRequest {
        AdminRequest(
            .post,
            "\(Self.importsPath)?existing=\(existing.rawValue)",
            "import tokens for many accounts",
            patience: .seconds(120)
        )
    }

    /// Refreshes an account now, even if its token is valid.
    package static func refresh(_ name: String) -> AdminRequest {
        AdminRequest(.post, "/v1/accounts/\(Self.encoded(name))/refresh", "refresh \(name)")
    }

    /// Assigns tokens that were made for another provider, token endpoint or client to the configured one.
    package static func adopt(_ name: String) -> AdminRequest {
        AdminRequest(.post, "/v1/accounts/\(Self.encoded(name))/adopt", "adopt the tokens of \(name)")
    }

    /// Invalidates tokens.
    ///
    /// - Parameter wait: how long the gateway waits for the kill to complete, as the order says. Its response may take
    ///   a little longer if the store is slow.
    package static func kill(_ order: [UInt8], wait: Duration) -> AdminRequest {
        AdminRequest(.post, Self.killPath, "kill the tokens", body: order, patience: wait + .seconds(30))
    }

    /// Allows new tokens again.
    package static func revive(_ order: [UInt8]) -> AdminRequest {
        AdminRequest(.post, "/v1/revive", "revive the tokens", body: order)
    }

    /// The message if no response arrives to a request that was sent, which may have taken effect; `nil` for a request
    /// that changes nothing.
    package var doubt: String? {
        // An import tells how many lines it has heard of.
        guard self.method != .get, !self.path.hasPrefix(Self.importsPath) else { return nil }
        if self.path == Self.lockPath || self.path == Self.unlockPath {
            return "it may have been done all the same: martlet status shows whether it was"
        }
        return self.path == Self.killPath
            ? "it may have been done all the same: martlet kills shows whether it was, and martlet status what is killed, also "
                + "through another gateway on that store (--admin)"
            : "it may have been done all the same: martlet audit shows whether it was"
    }

    /// Advice if no gateway is there, so that no kill was sent.
    package static let nothingWasKilled =
        "nothing was killed: a kill goes through a gateway that runs, so start one (martlet serve), or name another on "
        + "that store with --admin; while none runs no token is used, and none is revoked, and one that runs out of "
        + "reach uses them until it is stopped"

    /// Advice if no gateway is there.
    package static let isItRunning = "is it running? martlet serve starts it, --admin names another address"

    private static let importsPath = "/v1/imports"
    private static let killPath = "/v1/kill"
    private static let lockPath = "/v1/lock"
    private static let unlockPath = "/v1/unlock"

    /// All kills.
    package static let kills = AdminRequest(.get, "/v1/kills", "list the kills")

    /// One kill.
    package static func killReport(_ id: String) -> AdminRequest {
        AdminRequest(.get, "/v1/kills/\(Self.encoded(id))", "show the kill")
    }

    /// A page of the tokens that a kill took away.
    package static func killedTokens(_ id: String, after: String?) -> AdminRequest {
        let query = after.map { "?after=\(Self.encoded($0))" } ?? ""
        return AdminRequest(.get, "/v1/kills/\(Self.encoded(id))/tokens\(query)", "show the tokens of the kill")
    }

    /// Whether the gateway holds keys and tokens.
    package static let lockStatus = AdminRequest(.get, Self.lockPath, "ask for the lock")

    /// Locks the gateway; `order` is a ``LockOrderBody`` as JSON. A slow store may delay the response.
    package static func lock(_ order: [UInt8]) -> AdminRequest {
        AdminRequest(.post, Self.lockPath, "lock the gateway", body: order, patience: .seconds(60))
    }

    /// Unlocks the gateway; `body` is an ``UnlockBody`` as JSON. Keys may come from a command, and then the store is
    /// opened.
    package static func unlock(_ body: [UInt8]) -> AdminRequest {
        AdminRequest(.post, Self.unlockPath, "unlock the gateway", body: body, patience: .seconds(120))
    }

    /// Lets an account be used for a while.
    package static func approve(_ order: [UInt8], for name: String) -> AdminRequest {
        AdminRequest(.post, "/v1/approvals", "approve \(name)", body: order)
    }

    /// The replicas that share the store.
    package static let replicas = AdminRequest(.get, "/v1/replicas", "list the replicas")

    /// Removes a replica from the list, so that no kill waits for it.
    package static func forgetReplica(_ name: String) -> AdminRequest {
        AdminRequest(.delete, "/v1/replicas/\(Self.encoded(name))", "forget replica \(name)")
    }

    /// The response caches of the gateway's process.
    package static let caches = AdminRequest(.get, "/v1/cache", "show the caches")

    /// Removes stored responses; `order` is a ``PurgeOrder`` as JSON.
    package static func purgeCaches(_ order: [UInt8]) -> AdminRequest {
        AdminRequest(.post, "/v1/cache/purge", "purge the caches", body: order)
    }

    /// Records of the audit log after number `after`.
    package static func audit(after: UInt64, limit: Int) -> AdminRequest {
        AdminRequest(.get, "/v1/audit?after=\(after)&limit=\(limit)", "read the audit log")
    }

    /// Removes an account's tokens. The provider is asked about each token, which may take a while.
    package static func removeTokens(of name: String) -> AdminRequest {
        AdminRequest(
            .delete,
            "/v1/accounts/\(Self.encoded(name))/tokens",
            "remove the tokens of \(name)",
            patience: .seconds(60)
        )
    }

    /// Starts a sign-in; `body` comes from ``SignInOrder/body``. The gateway may have to ask the provider first.
    package static func startSignIn(_ body: [UInt8], for name: String) -> AdminRequest {
        AdminRequest(.post, Self.signInsPath, "sign in for \(name)", body: body, patience: .seconds(60))
    }

    /// One sign-in.
    package static func signIn(_ id: String) -> AdminRequest {
        AdminRequest(
            .get,
            "\(Self.signInsPath)/\(Self.encoded(id))",
            "ask what came of the sign-in",
            patience: .seconds(10)
        )
    }

    /// Hands in the address that the browser was sent to; `body` comes from ``SignInAnswer/body``. The gateway trades
    /// its code for tokens before it responds.
    package static func answerSignIn(_ id: String, _ body: [UInt8]) -> AdminRequest {
        AdminRequest(
            .post,
            "\(Self.signInsPath)/\(Self.encoded(id))",
            "hand in the answer of the sign-in",
            body: body,
            patience: .seconds(90)
        )
    }

    /// Ends a sign-in that still waits.
    package static func cancelSignIn(_ id: String) -> AdminRequest {
        AdminRequest(
            .delete,
            "\(Self.signInsPath)/\(Self.encoded(id))",
            "cancel the sign-in",
            patience: .seconds(5)
        )
    }

    private static let signInsPath = "/v1/logins"

    /// The same request with another limit for the response time.
    package func within(_ patience: Duration) -> AdminRequest {
        AdminRequest(
            self.method,
            self.path,
            self.attempt,
            body: self.body,
            patience: patience,
            needsToken: self.needsToken
        )
    }

    /// `name` as one path segment: everything except unreserved characters is percent-encoded (RFC 3986 §2.3).
    static func encoded(_ name: String) -> String {
        name.utf8.map { byte in
            let character = Character(Unicode.Scalar(byte))
            let isPlain = byte < 0x80 && (character.isLetter || character.isNumber || "-._~".contains(character))
            return isPlain ? String(character) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }
}
