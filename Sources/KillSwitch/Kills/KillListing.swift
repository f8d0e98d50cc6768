/// The kills there are, as far as could be found out.
package struct KillListing: Equatable, Sendable {
    /// The last first.
    package var reports: [KillReport]
    /// The log was read to its end. Else there may be kills that this process has not heard of.
    package var isWhole: Bool
}
