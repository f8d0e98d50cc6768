import Simulation
import TestKit
import TokenModel
import TokenRefresh
import TokenStorage

/// One process of a ``FlightSimulation``. It is a class because a ``Flight`` can't be copied.
final class SimulatedReplica {
    let incarnation = IncarnationID.random()
    let store: FaultyTokenStore
    let vault: AccountVault
    var accountState = AccountState<Int>(account: alice, binding: .acme)
    var flight: Flight
    var claimsRestUntil = BootInstant.distantPast
    /// The refresh token that the provider issued to this replica and that the replica has not seen in the store yet.
    var inHand: String?
    /// The token set whose refresh is in progress at the provider.
    var asks: TokenVersion?
    /// The record of the flight in progress in this replica's journal, and the last record there of an ended flight.
    var journal: AccountRecord?
    var settled: AccountRecord?
    /// The entry that the flight read last, and whether a write of this flight got no response.
    var lastRead: AccountVault.Entry?
    var hasUnansweredWrite = false
    var endedLastAt = Duration.zero
    var isDead = false

    init(_ store: FaultyTokenStore, _ records: SealedRecords, _ weather: FlightSimulation.Weather) {
        self.store = store
        self.vault = AccountVault(
            SealedRecords(store: store, keys: records.keys, storeID: records.storeID)
        )
        self.flight = Flight(Self.plan(self.incarnation, .usable, weather), snapshot: nil)
    }

    func knows(_ refreshToken: String) -> Bool {
        self.inHand == refreshToken || self.journal?.tokens?.refreshToken?.text == refreshToken
            || self.settled?.tokens?.refreshToken?.text == refreshToken
            || self.accountState.snapshot?.entry?.record.tokens?.refreshToken?.text == refreshToken
    }

    static func plan(_ incarnation: IncarnationID, _ refresh: RefreshRequest, _ weather: FlightSimulation.Weather)
        -> FlightParameters
    {
        FlightParameters(
            account: alice,
            binding: .acme,
            proofs: ProofOrder(digests: [nil, nil]),
            timeout: FlightSimulation.timeout,
            answerTimeout: weather.answersWithin,
            journalsFirst: true,
            incarnation: incarnation,
            claim: .random(),
            refresh: refresh,
            jitter: 0.5
        )
    }
}
