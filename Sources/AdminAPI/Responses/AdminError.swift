internal import Audit
internal import KillSwitch
internal import SignIn
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// The reason that a request to the admin API is refused or fails. Two errors are equal when their codes are equal.
struct AdminError: Error, Sendable {
    enum Code: String, Sendable, CaseIterable {
        case unauthorized = "admin_unauthorized"
        case tooManyAttempts = "too_many_attempts"
        /// A browser says that a page of another origin sent the request.
        case forbidden = "admin_forbidden"
        /// The administrator's role does not permit the request.
        case roleForbidden = "role_forbidden"
        case notFound = "not_found"
        case methodNotAllowed = "method_not_allowed"
        case invalidField = "invalid_field"
        /// The request conflicts with the current state.
        case conflict
        /// The stored record can't be read. It is kept.
        case accountUnreadable = "account_unreadable"
        /// The store can't be reached or written.
        case storeLost = "store_lost"
        /// The gateway is locked: it has no sealing key.
        case locked
        /// A provider refuses what a sign-in begins with.
        case providerRefused = "provider_refused"
        case providerUnreachable = "provider_unreachable"
        /// The change can't be recorded, and so is not made.
        case auditUnavailable = "audit_unavailable"
        /// A passphrase or key does not open the store.
        case keyRefused = "key_refused"
        /// The gateway can't get its key.
        case keyUnavailable = "key_unavailable"
        /// Too many wrong passphrases or keys.
        case unlockLimited = "unlock_limited"
    }

    let code: Code
    /// For the operator: what failed, on what, and what would help. Of the request's contents, only the name of a
    /// known account and the name of a field may appear. Names of the configuration may appear, because operators know
    /// them.
    let message: String
    /// The invalid field, or `body` or `query`.
    let field: String?
    let account: AccountID?
    /// The methods that the path allows, for `Allow`.
    let allowed: String?
    /// The value that the field should have.
    let expected: String?
    /// When the next attempt may help; `nil` for the usual time of the code.
    let retryAfter: Duration?

    private init(
        _ code: Code,
        _ message: String,
        field: String? = nil,
        account: AccountID? = nil,
        allowed: String? = nil,
        expected: String? = nil,
        retryAfter: Duration? = nil
    ) {
        self.code = code
        self.message = message
        self.field = field
        self.account = account
        self.allowed = allowed
        self.expected = expected
        self.retryAfter = retryAfter
    }
}

extension AdminError {
    /// Whether the request was not authenticated.
    var isRefusal: Bool { self.code == .unauthorized || self.code == .tooManyAttempts }
}

extension AdminError: Equatable {
    static func == (left: AdminError, right: AdminError) -> Bool { left.code == right.code }
}

extension AdminError {
    /// The same error with a suggested name, if there is one. The requested name is not repeated, because it may be a
    /// token that was pasted into the wrong place.
    func suggesting(_ name: String?) -> AdminError {
        guard let name else { return self }
        return AdminError(
            self.code,
            "\(self.message); did you mean \(name)?",
            field: self.field,
            account: self.account,
            allowed: self.allowed,
            expected: self.expected,
            retryAfter: self.retryAfter
        )
    }
}

extension AdminError {
    static let unauthorized = AdminError(
        .unauthorized,
        "no valid admin token; send one as Authorization: Bearer, from the file that admin.token_file names"
    )
    static func tooManyImports(_ most: Int) -> AdminError {
        AdminError(.conflict, "\(most) bulk imports are in progress: try again when one of them has ended")
    }

    static let tooManyAttempts = AdminError(
        .tooManyAttempts,
        "too many requests with a wrong admin token at once; a right token is let in at any time"
    )
    static let locked = AdminError(
        .locked,
        "the gateway is locked and can read no account; martlet status shows why, martlet unlock opens it"
    )
    static let noApprovals = AdminError(
        .conflict,
        "no account of the configuration needs an approval: require_approval names those that do"
    )
    static let noSuchPath = AdminError(.notFound, "the admin API has no such path")
    static let noSuchAccount = AdminError(
        .notFound,
        "neither the configuration nor the store has an account of that name; martlet accounts list shows them"
    )
    /// A purge of a route that stores nothing.
    static let noSuchCache = AdminError(
        .notFound,
        "the configuration has no route of that name with a cache; martlet cache shows those that have one"
    )
    static let notConfigured = AdminError(
        .notFound,
        "the configuration has no account of that name; add it to the configuration first"
    )

    static func methodNotAllowed(_ allowed: String) -> AdminError {
        AdminError(.methodNotAllowed, "the path takes \(allowed)", allowed: allowed)
    }

    /// The administrator's role does not permit the request.
    static func roleForbidden(_ administrator: Administrator) -> AdminError {
        let (rights, needed) =
            switch administrator.role {
            case .operator: ("an operator, who may do everything", "nothing more")
            case .killer: ("a killer, who may read, kill and purge caches", "an operator's")
            case .viewer: ("a viewer, who may read", "an operator's, or for a kill or a purge a killer's")
            case .registrar(let accounts):
                (
                    "a registrar, who may import tokens for \(accounts), sign in there and see those accounts",
                    "another role, or a right to other accounts"
                )
            }
        return AdminError(
            .roleForbidden,
            "the admin token is \(administrator.name)'s, \(rights); this takes \(needed)"
        )
    }

    static func forbidden(_ message: String) -> AdminError { AdminError(.forbidden, message) }

    static func invalidField(_ field: String, _ message: String) -> AdminError {
        AdminError(.invalidField, message, field: field)
    }

    /// An import of an admin token of this gateway.
    static func adminToken(in field: String) -> AdminError {
        .invalidField(
            field,
            "\(field) is an admin token that opens this gateway; an account needs the tokens of its provider"
        )
    }

    /// The audit log can't be read.
    init(_ cause: StoreError) {
        self = .init(.storeLost, "the audit log can't be read: \(cause.message)")
    }

    /// A change can't be recorded, and so was not made.
    init(_ cause: AuditError) {
        self = .init(.auditUnavailable, cause.message)
    }

    /// The kill switch refused or failed.
    init(_ cause: KillSwitchError) {
        switch cause.code {
        case .notKilled, .killed, .ownReplica, .ambiguousReplica: self = .init(.conflict, cause.message)
        case .noSuchKill, .noSuchReplica: self = .init(.notFound, cause.message)
        case .storeLost: self = .init(.storeLost, cause.message)
        }
    }

    /// A kill of an unknown scope: it would stop nothing, but look as if it had.
    static func nothingToKill(_ scope: KillScope) -> AdminError {
        .init(
            .notFound,
            "neither the configuration nor the store has \(scope.kind) of that name; martlet status shows them"
        )
    }

    /// A revival of a scope that is killed only as a part of wider scopes. It stays killed until those are revived.
    static func killedByWider(_ wider: [KillScope], than scope: KillScope) -> AdminError {
        let isOne = wider.count == 1
        let kills = wider.map(\.text).joined(separator: " and ")
        let commands = wider.map { "martlet revive \($0.option) --reason TEXT" }.joined(separator: " and ")
        return .init(
            .conflict,
            "\(scope.text) is not killed by itself, but \(kills) \(isOne ? "is" : "are"): "
                + "\(commands) \(isOne ? "lifts" : "lift") that"
        )
    }

    /// The gateway was not locked or unlocked.
    init(_ cause: LockError) {
        switch cause.code {
        case .alreadyOpen, .alreadyLocked, .busy, .storeRefused: self = .init(.conflict, cause.message)
        case .wrongPassphrase: self = .init(.keyRefused, cause.message, field: "passphrase")
        case .wrongKey: self = .init(.keyRefused, cause.message, field: "key")
        case .passphraseNeeded, .passphraseTooShort: self = .invalidField("passphrase", cause.message)
        case .keyUnavailable: self = .init(.keyUnavailable, cause.message, retryAfter: cause.retryAfter)
        case .tooManyAttempts: self = .init(.unlockLimited, cause.message, retryAfter: cause.retryAfter)
        case .storeUnreachable: self = .init(.storeLost, cause.message, retryAfter: cause.retryAfter)
        case .unknownScope: self = .init(.notFound, cause.message)
        }
    }

    /// An account was not approved.
    init(_ cause: ApprovalRefusal, account: AccountID) {
        switch cause.code {
        case .notRequired, .killed: self = .init(.conflict, cause.message, account: account)
        case .unknownAccount: self = .notConfigured
        case .storeLost: self = .init(.storeLost, cause.message, account: account)
        }
    }

    /// A sign-in can't be begun, answered or ended.
    init(_ cause: SignInError, account: AccountID? = nil) {
        switch cause.code {
        case .invalidAnswer, .anotherBrowser: self = .init(.invalidField, cause.message, field: "answer")
        case .invalidRedirectURI:
            self = .init(
                .invalidField,
                cause.message,
                field: "redirect_uri",
                account: account,
                expected: cause.expected
            )
        case .unknownAccount: self = .notConfigured
        case .unknownSignIn: self = .init(.notFound, cause.message)
        case .conflict: self = .init(.conflict, cause.message, account: account)
        case .providerRefused: self = .init(.providerRefused, cause.message, account: account)
        case .providerUnreachable: self = .init(.providerUnreachable, cause.message, account: account)
        case .storeLost: self = .init(.storeLost, cause.message)
        case .unreadable: self = .init(.accountUnreadable, cause.message, account: account)
        }
    }

    /// The refresh engine could not change the account.
    init(_ cause: AccountChangeError, account: AccountID) {
        switch cause.code {
        case .notConfigured: self = .notConfigured
        case .minted, .killed, .subjectDiffers, .exists, .familyFull:
            self = .init(.conflict, cause.message, account: account)
        case .invalidTokens: self = .init(.invalidField, cause.message, field: "refresh_token", account: account)
        case .unreadable: self = .init(.accountUnreadable, cause.message, account: account)
        case .storeLost: self = .init(.storeLost, cause.message, account: account)
        }
    }
}
