/// The reason why an account has no credential. Two errors are equal if their codes are equal.
package struct CredentialError: Error, Sendable {
    /// Error codes of the contract with callers. Each code has its own local reply.
    package enum Code: String, Sendable, CaseIterable {
        /// There is no valid token, and the provider is unreachable or asks us to retry later.
        case refreshFailed = "refresh_failed"
        /// The provider refuses Martlet's own client, or another server responds in the provider's place.
        case providerConfig = "provider_config"
        /// The refresh token is dead. A person must sign in again.
        case reauthorizationRequired = "reauthorization_required"
        /// No tokens are stored yet.
        case accountEmpty = "account_empty"
        /// The stored record can't be decrypted or parsed. It is kept.
        case accountUnreadable = "account_unreadable"
        /// The kill switch is on.
        case killed = "killed"
        /// The store is unreachable, and a refresh needs it now.
        case storeLost = "store_lost"
        /// Too many callers wait already, or this caller has waited too long.
        case overloaded = "overloaded"
        /// The gateway is locked: it holds no key and no token.
        case locked = "locked"
        /// The account may be used only while an operator's approval stands, and none does.
        case approvalRequired = "approval_required"
    }

    /// A limit of the gateway itself that prevented the refresh. Nothing is wrong at the provider. Operators see the
    /// raw value.
    package enum Restraint: String, Sendable {
        /// The account was refreshed too often in a short time.
        case account = "refresh_limit"
        /// More refreshes are due than the provider's `refresh_rate` allows in time.
        case provider = "refresh_rate"
    }

    package let code: Code
    /// For the operator: what failed, on which object, and what would help. Contains no token and no free text from a
    /// provider.
    package let message: String
    /// How long to wait until a retry may help.
    package let retryAfter: Duration?
    /// The tokens are not dead. They were issued for another provider, token endpoint or client than the configured
    /// one.
    package let isBoundElsewhere: Bool
    /// The account had tokens, and a kill or a removal took them.
    package let wasEmptied: Bool
    /// The gateway's own limit that kept the refresh from being sent; `nil` if there was none.
    package let restraint: Restraint?
    /// Only the caller's wait has ended. The refresh itself goes on.
    package let isUnderWay: Bool
    /// Another server responded in the provider's place, so nobody has refused the client.
    package let isNotProvider: Bool

    package init(
        _ code: Code,
        _ message: String,
        retryAfter: Duration? = nil,
        isBoundElsewhere: Bool = false,
        wasEmptied: Bool = false,
        restraint: Restraint? = nil,
        isUnderWay: Bool = false,
        isNotProvider: Bool = false
    ) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
        self.isBoundElsewhere = isBoundElsewhere
        self.wasEmptied = wasEmptied
        self.restraint = restraint
        self.isUnderWay = isUnderWay
        self.isNotProvider = isNotProvider
    }
}

extension CredentialError {
    /// Why a locked gateway has no credential to give.
    package static let locked = CredentialError(
        .locked,
        "the gateway is locked, and holds no token until an operator runs martlet unlock"
    )

    /// A copy with another retry delay.
    package func with(retryAfter: Duration) -> CredentialError {
        CredentialError(
            self.code,
            self.message,
            retryAfter: retryAfter,
            isBoundElsewhere: self.isBoundElsewhere,
            wasEmptied: self.wasEmptied,
            restraint: self.restraint,
            isUnderWay: self.isUnderWay,
            isNotProvider: self.isNotProvider
        )
    }
}

extension CredentialError: Equatable {
    package static func == (left: CredentialError, right: CredentialError) -> Bool { left.code == right.code }
}
