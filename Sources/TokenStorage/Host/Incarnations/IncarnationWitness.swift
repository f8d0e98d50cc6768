package import TokenModel

/// Tells of other starts of this program whether they have ended.
package protocol IncarnationWitness: Sendable {
    /// Whether `incarnation` has ended for certain, and the successes in its journal are in the store. `false` proves nothing: it
    /// may run, or be another host's.
    func isDead(_ incarnation: IncarnationID) async -> Bool
}
