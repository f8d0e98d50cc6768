/// How many accounts of a provider are how.
package struct AccountCounts: Equatable, Sendable {
    /// Each has one. All states are there, also with 0.
    package internal(set) var states = Dictionary(uniqueKeysWithValues: AccountStatus.State.allCases.map { ($0, 0) })
    /// Few have one, beside their state. All kinds are there, also with 0.
    package internal(set) var issues = Dictionary(uniqueKeysWithValues: AccountIssue.Kind.allCases.map { ($0, 0) })
}
