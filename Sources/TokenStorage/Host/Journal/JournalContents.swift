/// What stands in a journal's file.
package struct JournalContents: Equatable, Sendable {
    /// What opened, in the order in which it stands.
    package internal(set) var entries: [JournalEntry] = []
    /// Those that the store had acknowledged: it is owed them only if it has lost them since.
    package internal(set) var settled: [JournalEntry] = []
    /// How many say that they are sealed under which key, whether they open or not.
    package internal(set) var byKey: [SealingKey.ID: Int] = [:]
    /// The same of those whose key is not known: it may come back, so they must not go.
    package internal(set) var locked: [SealingKey.ID: Int] = [:]
    /// How many are of a form that this version does not know: a newer one wrote them.
    package internal(set) var foreign = 0
    /// Those of them that don't even show which key they are sealed under: it may be any.
    package internal(set) var keyless = 0

    package init() {}

    /// How many may be new tokens, and can't be read here.
    package var unopened: Int { self.locked.values.reduce(self.foreign, +) }
}
