import Synchronization
import TestKit

/// A queue of elements that come from elsewhere, for a test to take in order.
final class Mailbox<Element: Sendable>: Sendable {
    private let elements = Mutex<(waiting: [Element], total: Int)>(([], 0))

    /// The number of elements that have ever come.
    var total: Int { self.elements.withLock(\.total) }

    func put(_ element: Element) {
        self.elements.withLock { elements in
            elements.waiting.append(element)
            elements.total += 1
        }
    }

    func next(_ what: String) async throws -> Element {
        try await within(what) {
            while true {
                if let next = self.takeFirst() { return next }
                try await Task.sleep(for: .milliseconds(1))
            }
        }
    }

    func takeAll() -> [Element] {
        self.elements.withLock { elements in
            defer { elements.waiting = [] }
            return elements.waiting
        }
    }

    private func takeFirst() -> Element? {
        self.elements.withLock { elements in
            elements.waiting.isEmpty ? nil : elements.waiting.removeFirst()
        }
    }
}
