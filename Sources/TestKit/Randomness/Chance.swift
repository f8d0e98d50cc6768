internal import Synchronization

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
