package import TokenModel
package import TokenStorage

/// What the shell has to do next for a flight; each is answered by the event of the same name.
package enum FlightAction: Equatable, Sendable {
    /// Read the account's record → ``Flight/didRead(_:now:)``.
    case read
    /// Ask whether this process may send to the provider now → ``Flight/didAdmit(_:now:)``.
    case admit
    /// Write the record by compare-and-set → ``Flight/didWrite(_:sentAt:now:)``.
    case write(AccountRecord, expecting: Version?)
    /// Redeem the refresh token, unless its first byte can't leave by `sendBy` → ``Flight/didRedeem(_:now:)``.
    case redeem(Secret, sendBy: BootInstant)
    /// Have an access token minted, unless the request can't leave by `sendBy` → ``Flight/didRedeem(_:now:)``.
    case mint(sendBy: BootInstant)
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
