/// A rule that a run leaves out: of a store, a clock, a host or a provider's connection. Some seed must find each.
package enum Mutation: String, Sendable, CaseIterable {
    /// The store says that no read is stale.
    case leaseByReading
    /// A host's clock is so slow that a lease counts as lapsed before it has.
    case leaseFromTheEnd
    /// A store object reads what is older than its own writes.
    case forgetfulStore
    /// Entries of the kill log are acknowledged and not written.
    case ordersAreDropped
    /// The store loses its last writes, and says that it never does.
    case nothingIsRestored
    /// Token sets are acknowledged and not written, and kept in no journal.
    case commitsAreGivenUp
    /// A write without a response is said to have changed nothing.
    case writesAreNotReadBack
    /// Claims are acknowledged before they are written.
    case claimsNeedNoAnswer
    /// A host's clock is so slow that a claim counts as valid when it has lapsed.
    case claimsCountFromTheAnswer
    /// A write replaces whatever is stored.
    case writesAreBlind
    /// A failover loses records of accounts only, and nobody is told.
    case nothingIsPutBack
    /// The form is sent although it was called back.
    case oldTokensAreSent
}

extension Mutation {
    /// A weather in which the rule is needed.
    package var weather: Weather {
        var weather = Weather()
        switch self {
        // Only a token that still lives when its kill is complete can be sent then.
        case .leaseByReading, .leaseFromTheEnd, .forgetfulStore, .ordersAreDropped, .nothingIsRestored:
            weather.lifetime = .seconds(300)
        default: break
        }
        switch self {
        case .leaseByReading: (weather.store, weather.cuts) = (.postgreSQL, 0.5)
        case .leaseFromTheEnd: (weather.store, weather.cuts) = (.postgreSQL, 0.5)
        case .forgetfulStore: (weather.store, weather.cuts, weather.isStale, weather.deaths) = (.postgreSQL, 0.5, 0.3, 0.3)
        case .ordersAreDropped: (weather.store, weather.storeFails) = (.postgreSQL, 0.1)
        case .nothingIsRestored, .nothingIsPutBack: (weather.store, weather.failovers) = (.redis, 2)
        case .commitsAreGivenUp, .writesAreNotReadBack: (weather.store, weather.storeFails) = (.sqlite, 0.1)
        case .claimsNeedNoAnswer: (weather.store, weather.answerIsLate) = (.postgreSQL, 0.5)
        case .claimsCountFromTheAnswer: (weather.store, weather.answerIsLate, weather.stops) = (.postgreSQL, 0.3, 2)
        case .writesAreBlind: (weather.store, weather.isStale) = (.postgreSQL, 0.3)
        case .oldTokensAreSent: (weather.store, weather.failovers, weather.storeStalls) = (.redis, 2, 0.1)
        }
        return weather
    }
}
