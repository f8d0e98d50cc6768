/// A rule that a run leaves out: of a store, a clock, a host or a provider's connection. Some seed must find each.
package enum Mutation: String, Sendable, CaseIterable {
    /// The store says that no read is stale.
    case leaseByReading
    /// A host's clock is so slow that a lease counts as lapsed before it has.
    case leaseFromTheEnd
    /// A store object reads what is older than its own writes.
    case forgetfulStore
    /// A host keeps no kill that its store has not taken yet.
    case ordersAreDropped
    /// A store that has lost entries of the kill log acknowledges further ones, and does not write them.
    case nothingIsRestored
    /// Token sets are acknowledged and not written, and kept in no journal.
    case commitsAreGivenUp
    /// A write without a response is said to be done.
    case writesAreNotReadBack
    /// Claims are acknowledged before they are written.
    case claimsNeedNoAnswer
    /// A host's clock is so slow that a claim counts as valid when it has lapsed.
    case claimsCountFromTheAnswer
    /// A write replaces whatever is stored.
    case writesAreBlind
    /// A host keeps no copy of what its store has taken and may lose.
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
        case .leaseFromTheEnd: (weather.store, weather.cuts) = (.postgreSQL, 1)
        case .forgetfulStore: (weather.store, weather.cuts, weather.isStale) = (.postgreSQL, 1, 0.6)
        case .ordersAreDropped: (weather.store, weather.cuts, weather.deaths) = (.postgreSQL, 1, 1)
        case .nothingIsRestored: (weather.store, weather.failovers) = (.redis, 2)
        case .nothingIsPutBack: (weather.store, weather.failovers, weather.deaths) = (.redis, 1, 1)
        case .commitsAreGivenUp, .writesAreNotReadBack: (weather.store, weather.storeFails) = (.sqlite, 0.1)
        case .claimsNeedNoAnswer: (weather.store, weather.answerIsLate) = (.postgreSQL, 0.5)
        case .claimsCountFromTheAnswer: (weather.store, weather.answerIsLost) = (.postgreSQL, 0.3)
        case .writesAreBlind: (weather.store, weather.isStale) = (.postgreSQL, 0.3)
        case .oldTokensAreSent:
            (weather.store, weather.failovers, weather.storeStalls, weather.stops) = (.redis, 2, 0.1, 1)
        }
        return weather
    }
}

extension Mutation {
    /// What its violations are about.
    private var rules: Set<String> {
        switch self {
        case .leaseByReading, .leaseFromTheEnd, .forgetfulStore: ["I3"]
        case .ordersAreDropped: ["I4"]
        case .nothingIsRestored: ["I3", "I6"]
        case .writesAreNotReadBack: ["I13"]
        case .commitsAreGivenUp, .claimsNeedNoAnswer, .claimsCountFromTheAnswer, .oldTokensAreSent:
            ["I1", "a grant is lost"]
        case .nothingIsPutBack: ["I2", "a grant is lost"]
        case .writesAreBlind: ["I1", "I4", "I6", "I20", "a grant is lost"]
        }
    }

    package func explains(_ violation: String) -> Bool { self.rules.contains { violation.hasPrefix("\($0):") } }
}

extension Mutation {
    /// A seed that has found it, at which a search begins. Other code may make another one the first.
    package var seed: UInt64 {
        switch self {
        case .leaseByReading: 19
        case .leaseFromTheEnd: 50
        case .forgetfulStore: 5
        case .commitsAreGivenUp: 4
        case .writesAreNotReadBack: 1
        case .claimsCountFromTheAnswer: 3
        case .nothingIsPutBack: 16
        case .oldTokensAreSent: 217
        case .ordersAreDropped, .nothingIsRestored, .claimsNeedNoAnswer, .writesAreBlind: 0
        }
    }
}
