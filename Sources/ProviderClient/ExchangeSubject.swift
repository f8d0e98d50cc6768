package import TokenModel

/// Whose tokens an exchange is about: for the log, which else could not tell, since an endpoint knows no accounts.
package enum ExchangeSubject {
    /// Set around a call of a ``TokenEndpoint``.
    package static let account = TaskLocal<AccountID?>(wrappedValue: nil)
}
