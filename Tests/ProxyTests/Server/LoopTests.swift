import HTTPWire
import Proxy
import Testing

/// Requests that come back to the gateway that has sent them.
@Suite struct LoopTests {
    @Test(arguments: ["1.1 martlet (rig)", "1.0 a, 1.1 martlet (rig), 1.1 b"])
    func `a request that has passed this gateway gets 508, and goes nowhere`(via: String) async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/ HTTP/1.1\r\nHost: a\r\nVia: 1.1 c\r\nVia: \(via)\r\n\r\n")
            let answer = try await caller.answer()
            #expect(answer.head.status == 508)
            #expect(answer.body.contains("urn:martlet:error:loop_detected"))
            #expect(answer.head["Proxy-Status"] == "martlet; error=proxy_loop_detected")
            #expect(rig.upstream.connections == 0)
        }
    }

    @Test func `a request that has passed another gateway goes on`() async throws {
        try await withRig { rig in
            _ = try await rig.begun("GET /acme/ HTTP/1.1\r\nHost: a\r\nVia: 1.1 martlet (other)\r\n\r\n")
        }
    }

    @Test func `OPTIONS that may go no further is answered here, for an authenticated caller`() async throws {
        try await withRig { rig in
            let caller = try await rig.caller()
            try await caller.send("OPTIONS /acme/ HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n")
            let answer = try await caller.answer()
            #expect(answer.head.status == 200)
            #expect(answer.head["Allow"]?.contains("OPTIONS") == true)
            #expect(rig.upstream.connections == 0)
            // The connection stays.
            try await caller.send("OPTIONS /acme/ HTTP/1.1\r\nHost: a\r\nMax-Forwards: 2\r\n\r\n")
            #expect(try await rig.upstream.accept().head()["Max-Forwards"] == "1")
        }
        var setup = Rig.Setup()
        setup.callers = []
        try await withRig(setup) { rig in
            let caller = try await rig.caller()
            try await caller.send("OPTIONS /acme/ HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n")
            #expect(try await caller.answer().head.status == 401)
        }
    }

    @Test func `each gateway knows its own word alone`() throws {
        let request = try RequestHead.parsed("GET / HTTP/1.0\r\nVia: 1.0 martlet (w)\r\n\r\n")
        #expect(Via(word: "w").marks(request))
        #expect(!Via(word: "ww").marks(request))
        #expect(!Via.random().marks(request))
    }

    @Test func `a gateway keeps its word when its routes change`() throws {
        let request = try RequestHead.parsed("GET /acme/ HTTP/1.1\r\nHost: a\r\nVia: 1.1 martlet (w)\r\n\r\n")
        let old = RouteTable([.sample(port: 1)], via: Via(word: "w"))
        let gateway = Gateway(RouteTable([.sample(port: 2)], following: old))
        var caller = UnverifiedCaller(isOnUnixSocket: true)
        guard case .reply(let error) = gateway.decide(request, from: &caller) else {
            Issue.record("the request goes on")
            return
        }
        #expect(error.code == .loopDetected)
    }
}
