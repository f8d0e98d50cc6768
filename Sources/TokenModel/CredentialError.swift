/// Why an account has no credential to give. Equal when the codes are equal.
package struct CredentialError: Error, Sendable {
    /// Names of the contract with callers; each is one answer.
    package enum Code: String, Sendable, CaseIterable {
        /// No valid token, and the provider can't be reached or says later.
        case refreshFailed = "refresh_failed"
        /// The provider refuses Martlet's own client, or something else answers in its place.
        case providerConfig = "provider_config"
        /// The refresh token is dead: somebody must sign in again.
        case reauthorizationRequired = "reauthorization_required"
        /// No tokens stored yet.
        case accountEmpty = "account_empty"
        /// The stored record does not open; it is kept.
        case accountUnreadable = "account_unreadable"
        /// The kill switch holds.
        case killed = "killed"
        /// The store is out of reach, and a refresh needs it now.
        case storeLost = "store_lost"
        /// Too many callers wait already, or one has waited too long.
        case overloaded = "overloaded"
    }

    /// A bound of the gateway's own, past which no refresh is sent: nothing is wrong at the provider. The raw value is a word
    /// for operators.
    package enum Restraint: String, Sendable {
        /// The account was refreshed too often in a short time.
        case account = "refresh_limit"
        /// More is due than the provider's `refresh_rate` lets through in time.
        case provider = "refresh_rate"
    }

    package let code: Code
    /// For the operator: what failed, on what, what would help. Never a token or anything a provider printed freely.
    package let message: String
    /// When trying again may help.
    package let retryAfter: Duration?
    /// Nothing is dead: there are tokens, made for another provider, token endpoint or client than the configured one.
    package let isBoundElsewhere: Bool
    /// There were tokens, which a kill or a removal took.
    package let wasEmptied: Bool
    /// What kept the refresh from being sent, where that was the gateway itself.
    package let restraint: Restraint?
    /// Only the wait is over: the refresh that was waited for goes on.
    package let isUnderWay: Bool
    /// Something else answered in the provider's place: nobody has refused the client.
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
    /// The same, and when trying again may help.
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
