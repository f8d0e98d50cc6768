internal import ArgumentParser
internal import Settings

/// How long an order to kill waits for the kill's end, such as `15s`: the gateway is told so, and the command waits for its
/// answer accordingly.
enum KillWait {
    private static let longest = Duration.seconds(300)

    /// Refuses what is no such time, before anything is sent.
    static func duration(_ text: String) throws -> Duration {
        guard let wait = try? Quantity.duration(text), wait <= Self.longest else {
            throw ValidationError("--wait takes a time with its unit, such as 500ms, 15s or 2m, and 5m at most")
        }
        return wait
    }
}
