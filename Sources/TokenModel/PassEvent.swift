/// What became of an account's pass: what those who keep it follow, in order.
package enum PassEvent: Equatable, Sendable {
    /// From now on this is the account's pass, in place of any before.
    case installed(Pass)
    /// The account has no pass: its tokens were forgotten, replaced or made for somebody else.
    case dropped(AccountID)
    /// The account is no longer in the configuration: its pass is for those requests that are under way, and nobody is
    /// told what becomes of it.
    case retired(AccountID)
}
