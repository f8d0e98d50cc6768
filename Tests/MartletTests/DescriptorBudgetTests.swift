internal import TestKit
internal import Testing
internal import martlet

@Suite struct DescriptorBudgetTests {
    private func budget(wanted: Int = 10_000, limit: Int?) -> DescriptorBudget {
        DescriptorBudget(wanted: wanted, limit: limit, used: 30, eventLoops: 2, listeners: 1)
    }

    @Test(arguments: [nil, 1 << 20, 1 << 30])
    func `where there are enough, callers get what is configured`(limit: Int?) {
        let budget = self.budget(limit: limit)
        #expect(budget.connections == 10_000)
        #expect(budget.operators == 512)
    }

    @Test(arguments: [256, 1_024, 4_096, 20_000])
    func `two for each caller leave enough for the house and for operators`(limit: Int) {
        let budget = self.budget(wanted: 1_000_000, limit: limit)
        #expect(budget.connections > limit / 5)
        // What is used, two loops with a listener each, the operators' loops, and a reserve.
        #expect(2 * budget.connections + 30 + 2 * 4 + 8 + 64 <= limit)
        #expect(budget.operators >= 16)
        #expect(2 * budget.connections + 30 + 2 * 4 + 8 + 3 * budget.operators <= limit)
    }

    @Test func `where there is nothing to share, one caller at a time gets in`() {
        #expect(self.budget(limit: 64).connections == 1)
    }

    @Test(arguments: [
        (true, 4_096, "warning fewer connections"), (false, 4_096, "info fewer connections"),
        (false, 256, "warning fewer connections"),
    ])
    func `where there are too few, who named a number is warned, and the default gives way, but not down to few`(
        isNamed: Bool,
        limit: Int,
        begin: String
    ) throws {
        let log = HeardLog()
        let budget = self.budget(limit: limit)
        budget.report(wanted: 10_000, isNamed: isNamed, to: log.logger)
        let line = try #require(log.lines.first)
        #expect(log.lines.count == 1)
        #expect(line.hasPrefix(begin), "\(line)")
        #expect(line.contains("connections.limit=\(budget.connections)"))
        for remedy in ["ulimit -n", "--ulimit nofile", "LimitNOFILE"] { #expect(line.contains(remedy)) }
    }

    @Test func `where there are enough, nothing is said`() {
        let log = HeardLog()
        self.budget(limit: 1 << 20).report(wanted: 10_000, isNamed: true, to: log.logger)
        #expect(log.lines.isEmpty)
    }
}
