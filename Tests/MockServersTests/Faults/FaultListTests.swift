import MockServers
import Testing

@Suite struct FaultListTests {
    func strikes(_ rules: [FaultRule], _ point: FaultPoint, _ path: String, times: Int) -> [Duration?] {
        var list = FaultList()
        list.replace(with: rules)
        return (0..<times).map { _ in list.take(for: point, path: path)?.delay }
    }

    @Test func `the first rule with times left applies`() {
        let rules = [
            FaultRule(on: .token, times: 2, delay: .seconds(1)),
            FaultRule(on: .revoke, delay: .seconds(9)),
            FaultRule(on: .token, delay: .seconds(2)),
        ]
        #expect(
            self.strikes(rules, .token, "/oauth/token", times: 5) == [.seconds(1), .seconds(1), .seconds(2), nil, nil]
        )
        #expect(self.strikes(rules, .revoke, "/oauth/revoke", times: 2) == [.seconds(9), nil])
        #expect(self.strikes(rules, .api, "/api/echo", times: 1) == [nil])
    }

    @Test func `a rule with zero times applies until the rules are replaced`() {
        var list = FaultList()
        list.replace(with: [FaultRule(on: .api, times: 0)])
        for _ in 0..<100 {
            #expect(list.take(for: .api, path: "/api/echo") != nil)
        }
        list.replace(with: [])
        #expect(list.take(for: .api, path: "/api/echo") == nil)
    }

    @Test func `a rule with a path applies to that path only, and other paths do not use it up`() {
        let rules = [FaultRule(on: .api, path: "/api/echo", delay: .seconds(1))]
        #expect(self.strikes(rules, .api, "/api/echo/more", times: 1) == [nil])
        #expect(self.strikes(rules, .api, "/api/echo", times: 2) == [.seconds(1), nil])
    }
}
