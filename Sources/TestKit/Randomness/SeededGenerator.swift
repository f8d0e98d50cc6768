internal import FoundationEssentials
internal import Synchronization

/// Random numbers that come the same in each run (SplitMix64).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// - Parameter seed: the same seed brings the same numbers.
    package init(seed: UInt64) { self.state = seed }

    package mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

/// Draws from one seed for several who decide, in the order in which they ask.
package final class Chance: Sendable {
    private let generator: Mutex<SeededGenerator>
    private let foul = Mutex(true)

    package init(seed: UInt64) { self.generator = Mutex(SeededGenerator(seed: seed)) }

    /// Whether anything bad happens at all.
    package var isFoul: Bool {
        get { self.foul.withLock { $0 } }
        set { self.foul.withLock { $0 = newValue } }
    }

    /// From 0 up to, and without, 1.
    package var fraction: Double { self.generator.withLock { Double.random(in: 0..<1, using: &$0) } }

    package func happens(_ probability: Double) -> Bool { self.fraction < probability }

    package func number(below bound: Int) -> Int { self.generator.withLock { Int.random(in: 0..<bound, using: &$0) } }
}

/// Which seeded schedules a simulation goes through.
package enum Schedules {
    /// The seeds that `MARTLET_SCHEDULES` says, as `10000` or `17..<18`; else `few`, as many as every run of the tests has
    /// time for.
    package static func seeds(or few: UInt64) -> Range<UInt64> {
        let words = (ProcessInfo.processInfo.environment["MARTLET_SCHEDULES"] ?? "").split(separator: "..<")
        let bounds = words.compactMap { UInt64($0) }
        return switch (bounds.first, bounds.dropFirst().first) {
        case (let first?, let last?) where first <= last: first..<last
        case (let count?, nil): 0..<count
        default: 0..<few
        }
    }
}
