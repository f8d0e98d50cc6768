internal import ArgumentParser

/// Why somebody kills or revives: it stands in logs for good.
enum KillReason {
    /// Refuses one that says nothing, before anything is sent.
    static func check(_ reason: String) throws {
        guard reason.contains(where: { !$0.isWhitespace }) else {
            throw ValidationError("--reason is blank: say in a few words why")
        }
    }
}
