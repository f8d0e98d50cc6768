internal import TestKit
package import TokenStorage

/// What goes wrong in a ``SimulatedCluster``, and how often.
package struct Weather: Sendable {
    /// The store, by the guarantees of its driver.
    package enum Store: String, Sendable, CaseIterable {
        /// Several processes of one host share a file.
        case sqlite
        /// A server with a synchronous standby: a failover loses nothing, and reads may be stale.
        case postgreSQL
        /// A failover loses the last writes.
        case redis

        package var guarantees: StoreGuarantees {
            switch self {
            case .sqlite: StoreGuarantees(reach: .host)
            case .postgreSQL: StoreGuarantees(reach: .network)
            case .redis: StoreGuarantees(reach: .network, failover: .losesSuffix)
            }
        }
    }

    package var store = Store.redis

    // The probability for each call of the store.
    package var storeFails = 0.0
    package var storeStalls = 0.0
    package var isStale = 0.0
    /// The probability for each hint of the store.
    package var hintIsLost = 0.0

    // How often, out of all that goes wrong. The sum may be anything.
    package var stops = 0.0
    package var deaths = 0.0
    package var restarts = 0.0
    package var cuts = 0.0
    package var failovers = 0.0
    package var wallJumps = 0.0

    /// The probability that the event loops of a replica take long to be fenced.
    package var loopsAreSlow = 0.0

    /// The operator has the replicas move to another store.
    package var moves = false
    /// A second store mirrors the first.
    package var mirrors = false

    // The probability for each token request.
    package var answerIsLost = 0.0
    package var answerIsLate = 0.0
    package var serverFails = 0.0

    /// For how long the provider takes a refresh token that it has replaced.
    package var grace = Duration.zero
    /// How long access tokens live.
    package var lifetime = Duration.seconds(20)
    /// By how much the clocks of the hosts may drift, in millionths. A lease allows for an eighth.
    package var drift: Int64 = 0

    package init() {}

    /// A weather by a seed: some of what can go wrong, seldom all of it.
    init(_ chance: Chance) {
        // Now and then something goes wrong all the time.
        func maybe(_ most: Double, atWorst worst: Double? = nil) -> Double {
            guard chance.happens(0.4) else { return 0 }
            return chance.happens(0.2) ? worst ?? most : most * chance.fraction
        }
        self.store = Store.allCases[chance.number(below: Store.allCases.count)]
        self.storeFails = maybe(0.15)
        self.storeStalls = maybe(0.1, atWorst: 0.25)
        self.hintIsLost = maybe(0.8, atWorst: 1)
        self.loopsAreSlow = maybe(0.8)
        if self.store != .sqlite {
            self.isStale = maybe(0.3)
            self.cuts = maybe(1)
            self.failovers = maybe(1)
            self.drift = chance.happens(0.3) ? 40_000 : 200
        }
        self.stops = maybe(1)
        self.deaths = maybe(1)
        self.restarts = maybe(0.5)
        self.wallJumps = maybe(0.3)
        self.moves = chance.happens(0.25)
        self.mirrors = !self.moves && chance.happens(0.25)
        self.answerIsLost = maybe(0.05)
        self.answerIsLate = maybe(0.1)
        self.serverFails = maybe(0.1)
        self.lifetime = [.seconds(20), .seconds(60), .seconds(300)][chance.number(below: 3)]
        self.grace = [.zero, .seconds(5), .seconds(30)][chance.number(below: 3)]
    }
}

extension Weather: CustomStringConvertible {
    /// Only what goes wrong at all.
    package var description: String {
        let rates: [(String, Double)] = [
            ("failing", self.storeFails), ("stalling", self.storeStalls), ("stale", self.isStale),
            ("lost hints", self.hintIsLost), ("slow loops", self.loopsAreSlow),
            ("stops", self.stops), ("deaths", self.deaths), ("restarts", self.restarts), ("cuts", self.cuts),
            ("failovers", self.failovers), ("wall jumps", self.wallJumps), ("lost answers", self.answerIsLost),
            ("late answers", self.answerIsLate), ("server errors", self.serverFails),
        ]
        let words = rates.filter { $0.1 > 0 }.map { "\($0.0) \((($0.1 * 100).rounded()) / 100)" }
        return
            ([
                "\(self.store.rawValue)\(self.moves ? ", a move" : self.mirrors ? ", a mirror" : ""), tokens for \(self.lifetime), grace \(self.grace)"
            ]
            + words).joined(separator: ", ")
    }
}
