#if DEBUG
    /// A moment of a flight at which a process can be told to die, to stand still or to tarry. The names are those of
    /// ``FailpointConfiguration``.
    package enum FlightStep: String, CaseIterable, Sendable {
        case beforeRead = "before_read"
        case afterRead = "after_read"
        case beforeClaim = "before_claim"
        /// The claim is durable.
        case afterClaim = "after_claim"
        case beforeRenewal = "before_renewal"
        case afterRenewal = "after_renewal"
        /// There is no connection to the provider yet.
        case beforeExchange = "before_exchange"
        /// The connection stands and the head is written; the refresh token goes next.
        case sending
        /// The provider's answer is known to this process alone, and so are the tokens in it.
        case afterExchange = "after_exchange"
        case beforeCommit = "before_commit"
        /// The tokens are durable, or the store took nothing.
        case afterCommit = "after_commit"
        case beforeWriteBack = "before_write_back"
        case afterWriteBack = "after_write_back"
        case beforeJournal = "before_journal"
        case afterJournal = "after_journal"
    }

    extension Flight {
        /// The moments before and after what was asked for last.
        func steps(around action: FlightAction) -> (before: FlightStep, after: FlightStep)? {
            switch (action, self.state) {
            case (.read, _): (.beforeRead, .afterRead)
            case (.write, .claiming) where self.term == nil: (.beforeClaim, .afterClaim)
            case (.write, .claiming): (.beforeRenewal, .afterRenewal)
            case (.write, .committing): (.beforeCommit, .afterCommit)
            case (.write, .writingBack): (.beforeWriteBack, .afterWriteBack)
            case (.redeem, _), (.mint, _): (.beforeExchange, .afterExchange)
            case (.journal, _): (.beforeJournal, .afterJournal)
            case (.write, _), (.admit, _), (.pass, _), (.pause, _), (.end, _): nil
            }
        }
    }
#endif
