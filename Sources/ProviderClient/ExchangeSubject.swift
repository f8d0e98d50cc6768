package import TokenModel

/// The account whose tokens an exchange is about. It is for the log only, because an endpoint knows no accounts.
package enum ExchangeSubject {
    /// Set during a call of a ``TokenEndpoint``.
    package static let account = TaskLocal<AccountID?>(wrappedValue: nil)
}
