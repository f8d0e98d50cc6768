internal import FoundationEssentials
internal import Synchronization

/// Random numbers that are the same in each run (SplitMix64).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// - Parameter seed: equal seeds yield equal numbers.
    package init(seed: UInt64) { self.state = seed }

    package mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

/// Random decisions for several users of one seed, drawn in the order of the calls.
package final class Chance: Sendable {
    private let generator: Mutex<SeededGenerator>
    private let foul = Mutex(true)

    package init(seed: UInt64) { self.generator = Mutex(SeededGenerator(seed: seed)) }

    /// Whether faults happen at all.
    package var hasFaults: Bool {
        get { self.foul.withLock { $0 } }
        set { self.foul.withLock { $0 = newValue } }
    }

    /// A number from 0 up to 1, without 1.
    package var fraction: Double { self.generator.withLock { Double.random(in: 0..<1, using: &$0) } }

    package func happens(_ probability: Double) -> Bool { self.fraction < probability }

    package func number(below bound: Int) -> Int { self.generator.withLock { Int.random(in: 0..<bound, using: &$0) } }
}

/// The seeded schedules that a simulation runs.
package enum Schedules {
    /// The seeds from the environment variable `MARTLET_SCHEDULES`, such as `10000` or `17..<18`. Otherwise the first
    /// `few` seeds: as many as every test run has time for.
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
