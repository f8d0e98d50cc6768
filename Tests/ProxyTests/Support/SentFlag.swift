import Synchronization

/// A flag that is set once.
final class SentFlag: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { self.flag.load(ordering: .acquiring) }

    func set() { self.flag.store(true, ordering: .releasing) }
}
