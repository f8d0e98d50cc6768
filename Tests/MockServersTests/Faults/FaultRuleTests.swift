import MockServers
import NIOCore
import Testing

@Suite struct FaultRuleTests {
    func rules(_ json: String) throws(GrantRefusal) -> [FaultRule] {
        try JSONBody.decode([FaultRule].self, from: json.utf8)
    }

    @Test func `a rule names the place, the number of times and the fault`() throws {
        let rule = try #require(
            self.rules(
                #"""
                [{"on": "api", "path": "/api/echo", "times": 0, "delay": "3s", "delay_answer": "250ms", "status": 503,
                  "headers": {"Retry-After": "30"}, "body": "later", "drop": "mid_body"}]
                """#
            ).first
        )

        #expect(rule.point == .api)
        #expect(rule.path == "/api/echo")
        #expect(rule.times == 0)
        #expect(rule.delay == .seconds(3))
        #expect(rule.delayAnswer == .milliseconds(250))
        #expect(rule.drop == .midBody)
        #expect(rule.response?.status == 503)
        #expect(rule.response?.fields.first == HeaderField("Retry-After", "30"))
        #expect(rule.response?.body == .whole(ByteBuffer(string: "later")))
    }

    @Test func `a rule without a fault applies once, and lets the request through`() throws {
        let rule = try #require(self.rules(#"[{"on": "token"}]"#).first)
        #expect(rule.times == 1)
        #expect(rule.response == nil)
        #expect(rule.drop == nil)
        #expect(rule.delay == .zero)
    }

    @Test(arguments: [
        (#"{"on": "token", "status": 500}"#, 500),
        (#"{"on": "token", "headers": {"A": "b"}}"#, 200),
        (#"{"on": "token", "headers": [["A", "b"], ["A", "c"]]}"#, 200),
        (#"{"on": "token", "body": ""}"#, 200),
    ])
    func `a status, headers or a body alone make a response`(json: String, status: Int) throws {
        #expect(try self.rules("[\(json)]").first?.response?.status == status)
    }

    @Test(arguments: [
        (#"[{"on": "tokens"}]"#, "[0].on"),
        (#"[{"times": 1}]"#, "[0].on"),
        (#"[{"on": "token"}, {"on": "token", "delays": "3s"}]"#, "[1].delays"),
        (#"[{"on": "token", "delay": "3"}]"#, "[0].delay"),
        (#"[{"on": "token", "delay": 3}]"#, "[0].delay"),
        (#"[{"on": "token", "times": -1}]"#, "[0].times"),
        (#"[{"on": "token", "status": 100}]"#, "[0].status"),
        (#"[{"on": "token", "headers": {"A B": "c"}}]"#, "[0].A B"),
        (#"[{"on": "token", "headers": {"A": "b\r\nC: d"}}]"#, "[0].A"),
        (#"[{"on": "token", "headers": "A: b"}]"#, "[0].headers"),
        (#"[{"on": "token", "drop": "after"}]"#, "[0].drop"),
        (#"{"on": "token"}"#, ""),
        (#"[{]"#, "the body is not JSON"),
    ])
    func `an invalid rule is refused with the place of the mistake`(json: String, place: String) throws {
        let refusal = try #require(throws: GrantRefusal.self) { try self.rules(json) }
        #expect(refusal.message.hasPrefix(place), "\(refusal.message)")
    }
}
