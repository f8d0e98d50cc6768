/// The rules in force and how often each may still strike.
package struct FaultList: Sendable {
    private var rules: [(rule: FaultRule, left: Int)] = []

    package init() {}

    /// Forgets the rules in force and takes these.
    package mutating func replace(with rules: [FaultRule]) {
        self.rules = rules.map { ($0, $0.times) }
    }

    /// The first rule with times left that covers the request, one time the poorer.
    package mutating func take(for point: FaultPoint, path: String) -> FaultRule? {
        let match = self.rules.firstIndex { entry in
            entry.rule.covers(point, path: path) && (entry.rule.times == 0 || entry.left > 0)
        }
        guard let match else { return nil }
        self.rules[match].left -= self.rules[match].rule.times == 0 ? 0 : 1
        return self.rules[match].rule
    }
}
