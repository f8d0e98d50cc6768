import TokenModel

/// Why the data path itself sends no token.
extension PassError {
    static var accountKilled: PassError {
        PassError(.killed, "a kill covers the account: no token of it is used until that is lifted")
    }

    static var tokenKilled: PassError {
        PassError(.killed, "the request carried a token that was killed before its answer came")
    }

    static var leaseEnded: PassError {
        PassError(
            .storeLost,
            "the kill log could not be read for as long as the lease: nobody knows here whether the token is still allowed",
            retryAfter: .seconds(1)
        )
    }
}
