package import TokenModel
internal import TokenStorage

/// A backoff, or a wait that the provider asked for, that the store did not take: this process alone knows of it.
extension AccountState {
    /// Why nothing is sent yet; `nil` where nothing of this kind is in the way.
    ///
    /// - Parameter version: of the record as it stands. Where that is another than was left there, somebody has written
    ///   since, and the record says itself how long to wait.
    package func unwrittenObstacle(in version: Version?, now: BootInstant) -> CredentialError? {
        guard let unwritten, unwritten.version == version, now < unwritten.until else { return nil }
        return unwritten.error.with(retryAfter: now.duration(to: unwritten.until))
    }

    mutating func keepUnwritten(of outcome: FlightOutcome, now: BootInstant) {
        guard let error = outcome.unwritten, let wait = error.retryAfter, let version = outcome.snapshot?.entry?.version
        else { return }
        self.unwritten = (error, version, now.advanced(by: wait))
    }
}
