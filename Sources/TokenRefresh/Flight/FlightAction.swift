package import TokenModel
package import TokenStorage

/// What the shell has to do next for a flight; each is answered by the event of the same name.
package enum FlightAction: Equatable, Sendable {
    /// Read the account's record, and find out whether the incarnation that holds a claim in it is known dead →
    /// ``Flight/didRead(_:isHolderDead:now:)``.
    case read
    /// Ask whether this process may send to the provider now → ``Flight/didAdmit(_:now:)``.
    case admit
    /// Write the record by compare-and-set → ``Flight/didWrite(_:sentAt:now:)``.
    case write(AccountRecord, expecting: Version?)
    /// Redeem the refresh token, unless its first byte can't leave by `sendBy` → ``Flight/didRedeem(_:now:)``.
    case redeem(Secret, sendBy: BootInstant)
    /// Have an access token minted, unless the request can't leave by `sendBy` → ``Flight/didRedeem(_:now:)``.
    case mint(sendBy: BootInstant)
    /// Keep new tokens in the journal, since the store does not take them, or before it is asked to →
    /// ``Flight/didJournal(_:now:)``.
    case journal(AccountRecord, isPrecaution: Bool)
    /// Serve those who wait from new tokens that the journal holds, before the store does → ``Flight/didPass(now:)``.
    case pass(AccountVault.Entry, receivedAt: BootInstant)
    /// Wait → ``Flight/didPause(_:)``.
    case pause(until: BootInstant)
    /// Nothing more: the flight is over.
    case end(FlightOutcome)
}

/// Whether the process is going away.
package enum Stopping: Comparable, Sendable {
    case no
    /// Flights that hold a claim or a success end first.
    case graceful
    /// The time for that is over.
    case now
}
