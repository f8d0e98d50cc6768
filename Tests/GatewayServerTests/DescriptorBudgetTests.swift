internal import GatewayServer
internal import TestKit
internal import Testing

@Suite struct DescriptorBudgetTests {
    private func budget(wanted: Int = 10_000, limit: Int?) -> DescriptorBudget {
        DescriptorBudget(wanted: wanted, limit: limit, used: 30, eventLoops: 2, listeners: 1)
    }

    @Test(arguments: [nil, 1 << 20, 1 << 30])
    func `with enough descriptors callers get the configured number of connections`(limit: Int?) {
        let budget = self.budget(limit: limit)
        #expect(budget.connections == 10_000)
        #expect(budget.operators == 512)
    }

    @Test(arguments: [256, 1_024, 4_096, 20_000])
    func `two descriptors for each caller leave enough for the gateway and for operators`(limit: Int) {
        let budget = self.budget(wanted: 1_000_000, limit: limit)
        #expect(budget.connections > limit / 5)
        // The sum is: the descriptors in use, two loops with a listener each, the loops for operators, and a reserve.
        #expect(2 * budget.connections + 30 + 2 * 4 + 8 + 64 <= limit)
        #expect(budget.operators >= 16)
        #expect(2 * budget.connections + 30 + 2 * 4 + 8 + 3 * budget.operators <= limit)
    }

    @Test func `without descriptors to share one caller connection remains`() {
        #expect(self.budget(limit: 64).connections == 1)
    }

    @Test(arguments: [
        (true, 4_096, "warning fewer connections"), (false, 4_096, "info fewer connections"),
        (false, 256, "warning fewer connections"),
    ])
    func `too few descriptors are a warning for a configured limit, and for the default only if very few remain`(
        isNamed: Bool,
        limit: Int,
        begin: String
    ) throws {
        let log = RecordingLog()
        let budget = self.budget(limit: limit)
        budget.report(wanted: 10_000, isNamed: isNamed, to: log.logger)
        let line = try #require(log.lines.first)
        #expect(log.lines.count == 1)
        #expect(line.hasPrefix(begin), "\(line)")
        #expect(line.contains("connections.limit=\(budget.connections)"))
        for remedy in ["ulimit -n", "--ulimit nofile", "LimitNOFILE"] { #expect(line.contains(remedy)) }
    }

    @Test func `with enough descriptors nothing is logged`() {
        let log = RecordingLog()
        self.budget(limit: 1 << 20).report(wanted: 10_000, isNamed: true, to: log.logger)
        #expect(log.lines.isEmpty)
    }
}
