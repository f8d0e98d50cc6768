internal import Audit
internal import KillSwitch
internal import TokenModel
internal import TokenRefresh
internal import TokenStorage

/// Why a request to the admin API is not done. Equal when the codes are equal.
struct AdminError: Error, Sendable {
    enum Code: String, Sendable, CaseIterable {
        case unauthorized = "admin_unauthorized"
        case tooManyAttempts = "too_many_attempts"
        /// A browser says that a page from elsewhere sent it.
        case forbidden = "admin_forbidden"
        /// Who asked is let in, and may not do that.
        case roleForbidden = "role_forbidden"
        case notFound = "not_found"
        case methodNotAllowed = "method_not_allowed"
        case invalidField = "invalid_field"
        /// What is asked for does not go with what is there.
        case conflict
        /// The record that is there does not open; it is kept.
        case accountUnreadable = "account_unreadable"
        /// The store is out of reach or can't be written.
        case storeLost = "store_lost"
        /// A change that can't be recorded is not made.
        case auditUnavailable = "audit_unavailable"
    }

    let code: Code
    /// For the operator: what failed, on what, what would help. Nothing the request carried but a known account's name
    /// and the name of a field. Names of the configuration may stand in it: operators know them.
    let message: String
    /// The field that is not as it should be, or `body`, `query`.
    let field: String?
    let account: AccountID?
    /// What the path takes instead, for `Allow`.
    let allowed: String?

    private init(
        _ code: Code,
        _ message: String,
        field: String? = nil,
        account: AccountID? = nil,
        allowed: String? = nil
    ) {
        self.code = code
        self.message = message
        self.field = field
        self.account = account
        self.allowed = allowed
    }
}

extension AdminError {
    /// Who asked was not let in.
    var isRefusal: Bool { self.code == .unauthorized || self.code == .tooManyAttempts }
}

extension AdminError: Equatable {
    static func == (left: AdminError, right: AdminError) -> Bool { left.code == right.code }
}

extension AdminError {
    /// The same, with the name that was probably meant where there is one. What was asked for is not repeated: it may
    /// be a token that was pasted in the wrong place.
    func suggesting(_ name: String?) -> AdminError {
        guard let name else { return self }
        return AdminError(
            self.code,
            "\(self.message); did you mean \(name)?",
            field: self.field,
            account: self.account,
            allowed: self.allowed
        )
    }
}

extension AdminError {
    static let unauthorized = AdminError(
        .unauthorized,
        "no valid admin token; send one as Authorization: Bearer, from the file that admin.token_file names"
    )
    static let tooManyAttempts = AdminError(
        .tooManyAttempts,
        "too many requests with a wrong admin token at once; a right token is let in at any time"
    )
    static let noSuchPath = AdminError(.notFound, "the admin API has no such path")
    static let noSuchAccount = AdminError(
        .notFound,
        "neither the configuration nor the store has an account of that name; martlet accounts list shows them"
    )
    static let notConfigured = AdminError(
        .notFound,
        "the configuration has no account of that name; add it to the configuration first"
    )

    static func methodNotAllowed(_ allowed: String) -> AdminError {
        AdminError(.methodNotAllowed, "the path takes \(allowed)", allowed: allowed)
    }

    /// Somebody's role does not let them do it.
    static func roleForbidden(_ administrator: Administrator) -> AdminError {
        let rights = administrator.role == .killer ? "a killer, who may read and kill" : "a viewer, who may read"
        let needed = administrator.role == .killer ? "an operator's" : "an operator's, or for a kill a killer's"
        return AdminError(
            .roleForbidden,
            "the admin token is \(administrator.name)'s, \(rights); this takes \(needed)"
        )
    }

    static func forbidden(_ message: String) -> AdminError { AdminError(.forbidden, message) }

    static func invalidField(_ field: String, _ message: String) -> AdminError {
        AdminError(.invalidField, message, field: field)
    }

    /// An import of what opens the gateway itself.
    static func adminToken(in field: String) -> AdminError {
        .invalidField(
            field,
            "\(field) is an admin token that opens this gateway; an account needs the tokens of its provider"
        )
    }

    /// What could not be read of the audit log.
    init(_ cause: StoreError) {
        self = .init(.storeLost, "the audit log can't be read: \(cause.message)")
    }

    /// What could not be recorded, and so was not done.
    init(_ cause: AuditError) {
        self = .init(.auditUnavailable, cause.message)
    }

    /// What the kill switch could not do.
    init(_ cause: KillSwitchError) {
        switch cause.code {
        case .notKilled, .killed, .ownReplica, .ambiguousReplica: self = .init(.conflict, cause.message)
        case .noSuchKill, .noSuchReplica: self = .init(.notFound, cause.message)
        case .storeLost: self = .init(.storeLost, cause.message)
        }
    }

    /// A kill of something that nobody knows would stop nothing, and look as if it had.
    static func nothingToKill(_ scope: KillScope) -> AdminError {
        .init(
            .notFound,
            "neither the configuration nor the store has \(scope.kind) of that name; martlet status shows them"
        )
    }

    /// A revival of what is killed as a part of something else only, and stays so until that is revived.
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

    /// What the engine could not change.
    init(_ cause: AccountChangeError, account: AccountID) {
        switch cause.code {
        case .notConfigured: self = .notConfigured
        case .minted, .killed: self = .init(.conflict, cause.message, account: account)
        case .invalidTokens: self = .init(.invalidField, cause.message, field: "refresh_token", account: account)
        case .unreadable: self = .init(.accountUnreadable, cause.message, account: account)
        case .storeLost: self = .init(.storeLost, cause.message, account: account)
        }
    }
}
