/// Names and values, one pair a line, the values one below the other.
package struct FactList: Sendable {
    private var facts: [(name: String, value: String)] = []

    package init() {}

    /// Puts a pair below the others.
    package mutating func add(_ name: String, _ value: String) {
        self.facts.append((name, PlainText.line(value)))
    }

    /// One a pair.
    package var lines: [String] {
        let width = self.facts.map(\.name.count).max() ?? 0
        return self.facts.map { name, value in
            name + String(repeating: " ", count: width - name.count) + "  " + value
        }
    }
}
