package import TokenModel
package import TokenStorage

extension CredentialError {
    /// The error that callers get because of a record's failure.
    package init(_ failureRecord: AccountRecord.FailureRecord, of account: AccountID, retryAfter: Duration?) {
        let reason = failureRecord.reason
        switch FailureKind(of: failureRecord) {
        case _ where failureRecord.endsGrant && failureRecord.isAfterLostProcess:
            self.init(
                .reauthorizationRequired,
                """
                account \(account): the refresh token is dead (\(reason)): a process ended, or lost the store, while that \
                was being spent; martlet login \(account), or import new tokens
                """
            )
        case _ where failureRecord.endsGrant:
            self.init(
                .reauthorizationRequired,
                "account \(account): the refresh token is dead (\(reason)); martlet login \(account), or import new tokens"
            )
        case .config, .accountConfig:
            self.init(
                .providerConfig,
                "account \(account): the provider refuses the client (\(reason)); check its id, secret and scopes",
                retryAfter: retryAfter
            )
        case .notProvider:
            self.init(
                .providerConfig,
                """
                account \(account): something else than the provider answers at its token endpoint (\(reason)); check \
                the endpoint and what stands before it
                """,
                retryAfter: retryAfter,
                isNotProvider: true
            )
        case .refused:
            self.init(
                .refreshFailed,
                """
                account \(account): the provider refuses and gives no known reason (\(reason)), and is asked once an hour; \
                sign in again, or look at the client
                """,
                retryAfter: retryAfter
            )
        case .notSent, .ambiguous, .throttled, .dead:
            self.init(
                .refreshFailed,
                "account \(account): the refresh failed (\(reason)) and is tried again later",
                retryAfter: retryAfter
            )
        }
    }

    /// The error in one word, for operators.
    var word: String {
        self.restraint?.rawValue ?? (self.isNotProvider ? AccountIssue.notProvider : self.code.rawValue)
    }

    static func empty(_ account: AccountID) -> CredentialError {
        CredentialError(
            .accountEmpty,
            "account \(account) has no tokens; martlet login \(account), or martlet accounts import \(account)"
        )
    }

    /// The error for an account whose tokens were taken by a removal, or by a kill that has been lifted since.
    static func emptied(_ account: AccountID, by invalidation: KillEpochs.Invalidation) -> CredentialError {
        let what = invalidation.endWithRemoval ? "removed" : "killed, and stay dead"
        return CredentialError(
            .accountEmpty,
            "account \(account): its tokens were \(what); martlet login \(account), or import new ones",
            wasEmptied: true
        )
    }

    static func killed(_ account: AccountID) -> CredentialError {
        CredentialError(
            .killed,
            "account \(account): an operator has stopped the use of its tokens; martlet kills shows the kill"
        )
    }

    static func boundElsewhere(
        _ account: AccountID,
        to binding: AccountRecord.Binding,
        not configured: AccountRecord.Binding
    ) -> CredentialError {
        let hasMoved = binding.match(configured) == .moved
        return CredentialError(
            .reauthorizationRequired,
            """
            account \(account): its tokens were made for provider \(binding.provider), \(binding.issuer) and client \
            \(binding.clientID), and \(hasMoved ? "the issuer says otherwise now" : "the configuration says otherwise") \
            (\(configured.issuer)); martlet accounts adopt \(account) if that is right, or import new ones
            """,
            isBoundElsewhere: true
        )
    }

    static func withoutRefreshToken(_ account: AccountID) -> CredentialError {
        CredentialError(
            .reauthorizationRequired,
            "account \(account) has no refresh token; martlet login \(account), or import one"
        )
    }

    static func unreadable(_ account: AccountID, _ cause: StoreError) -> CredentialError {
        CredentialError(
            .accountUnreadable,
            "the record of account \(account) does not open and is kept: \(cause.message)"
        )
    }

    static func storeLost(_ account: AccountID, _ cause: StoreError) -> CredentialError {
        CredentialError(
            .storeLost,
            "account \(account) can't be refreshed without the store: \(cause.message)",
            retryAfter: .seconds(1)
        )
    }

    static func storeTooSlow(_ account: AccountID) -> CredentialError {
        CredentialError(
            .storeLost,
            "account \(account) can't be refreshed: the store takes longer for a write than a claim leaves",
            retryAfter: .seconds(1)
        )
    }

    static func claimedElsewhere(_ account: AccountID) -> CredentialError {
        CredentialError(
            .refreshFailed,
            "account \(account): another replica is refreshing it and has not ended in its time",
            retryAfter: .seconds(1)
        )
    }

    static func expiredOnArrival(_ account: AccountID) -> CredentialError {
        CredentialError(
            .refreshFailed,
            "account \(account): the provider's new access token had expired before it could be used",
            retryAfter: .seconds(1)
        )
    }

    static func tooOften(_ account: AccountID, retryAfter: Duration) -> CredentialError {
        CredentialError(
            .refreshFailed,
            "account \(account) was refreshed too often in a short time; its tokens expire too early",
            retryAfter: retryAfter,
            restraint: .account
        )
    }

    static func providerHeld(_ provider: ProviderID, retryAfter: Duration) -> CredentialError {
        CredentialError(
            .providerConfig,
            "provider \(provider) refuses the client; check its id and secret",
            retryAfter: retryAfter
        )
    }

    static func notProvider(_ provider: ProviderID, retryAfter: Duration) -> CredentialError {
        CredentialError(
            .providerConfig,
            "something else than provider \(provider) answers at its token endpoint; check it and what stands before it",
            retryAfter: retryAfter,
            isNotProvider: true
        )
    }

    static func unstorable(_ account: AccountID, _ cause: StoreError) -> CredentialError {
        CredentialError(
            .refreshFailed,
            "account \(account): the provider's new tokens can't be stored and so can't be used: \(cause.message)"
        )
    }

    static func notConfigured(_ account: AccountID) -> CredentialError {
        CredentialError(.accountEmpty, "account \(account) is not in the configuration")
    }

    static func reconfigured(_ account: AccountID) -> CredentialError {
        CredentialError(
            .refreshFailed,
            "account \(account): the configuration changed before its refresh was sent, which the next one goes by",
            retryAfter: .seconds(1)
        )
    }

    static func stopping(_ account: AccountID) -> CredentialError {
        CredentialError(
            .refreshFailed,
            "account \(account) is not refreshed: the gateway is stopping",
            retryAfter: .seconds(1)
        )
    }

    static func waitedTooLong(_ account: AccountID) -> CredentialError {
        CredentialError(
            .refreshFailed,
            "account \(account): its refresh takes longer than callers may wait; it continues in the background",
            retryAfter: .seconds(1),
            isUnderWay: true
        )
    }

    /// - Parameter isUnderWay: whether the caller already waited for the refresh.
    static func waitCancelled(_ account: AccountID, isUnderWay: Bool) -> CredentialError {
        CredentialError(
            .refreshFailed,
            "account \(account): the wait for its refresh was cancelled",
            isUnderWay: isUnderWay
        )
    }

    static func tooManyWaiters(_ limit: Int) -> CredentialError {
        CredentialError(
            .overloaded,
            "\(limit) requests wait for refreshes already; a provider or the store is slow",
            retryAfter: .seconds(1)
        )
    }
}
