package import TokenModel

/// Slows down who tries passphrases or keys. Each attempt costs the process a lot of memory and time, and an attacker who
/// can send requests must not be able to try many.
package struct UnlockAttempts: Equatable, Sendable {
    private var failures = 0
    private var closedUntil = BootInstant.distantPast

    package init() {}

    /// The failures that delay nothing: people mistype.
    private static let free = 5
    private static let longest = Duration.seconds(300)

    /// How long to wait before the next attempt; `nil` if it may be made now.
    package func delay(at now: BootInstant) -> Duration? {
        now < self.closedUntil ? now.duration(to: self.closedUntil) : nil
    }

    /// Notes a wrong passphrase or key. From the fifth in a row on, the next attempt waits for 2 s, then 4 s, 8 s and so on.
    package mutating func failed(at now: BootInstant) {
        self.failures += 1
        guard self.failures >= Self.free else { return }
        let pause = min(Duration.seconds(2) * (1 << min(self.failures - Self.free, 10)), Self.longest)
        self.closedUntil = now.advanced(by: pause)
    }
}
