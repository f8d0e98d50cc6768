/// What became of an account's credential: what those who keep it follow, in order.
package enum CredentialEvent: Equatable, Sendable {
    /// From now on this is the account's credential, in place of any before.
    case installed(UpstreamCredential)
    /// The account has no credential: its tokens were forgotten, replaced or made for somebody else.
    case dropped(AccountID)
    /// The account is no longer in the configuration: its credential is for those requests that are under way, and nobody is
    /// told what becomes of it.
    case retired(AccountID)
}
