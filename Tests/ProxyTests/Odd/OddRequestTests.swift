import NIOCore
import Proxy
import Testing

@Suite struct OddRequestTests {
    private static var setup: Rig.Setup {
        var setup = Rig.Setup(routes: { port in
            [
                .sample(port: port),
                .sample(port: port) { plan in
                    plan.name = "kept"
                    plan.path = "/kept/"
                    plan.strip = false
                    plan.upstream.path = "/v3/"
                },
                .sample(port: port) { plan in
                    plan.name = "rest"
                    plan.path = "/"
                    plan.upstream.path = "/"
                },
            ]
        })
        // A hundred writes take a while on a loaded machine.
        setup.callerTimeouts = CallerTimeouts(head: .seconds(600))
        return setup
    }

    @Test(arguments: OddRequest.all)
    func `a valid request arrives byte for byte, except for what must change`(odd: OddRequest) async throws {
        try await withRig(Self.setup) { rig in
            let caller = try await rig.caller()
            async let sent: Void = self.send(odd, by: caller)
            var upstream: Peer?
            for request in odd.arrives {
                let peer = if let upstream { upstream } else { try await rig.upstream.accept() }
                upstream = peer
                try await peer.expect(request, port: rig.upstream.port)
                let isHead = request.line.hasPrefix("HEAD ")
                try await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + (isHead ? "" : "ok"))
                var head = try await caller.head()
                if head.status == 100 { head = try await caller.head() }
                #expect(head.status == 200)
                if !isHead { #expect(String(buffer: try await caller.body(of: head)) == "ok") }
            }
            try await sent
            // Not one byte more arrives.
            caller.close()
            let next = try await rig.caller()
            try await next.send("GET /acme/next HTTP/1.1\r\nHost: a\r\n\r\n")
            try await upstream?.expect(PassedRequest("GET /v2/next"), port: rig.upstream.port)
            #expect(rig.upstream.connections == 1)
        }
    }

    private func send(_ odd: OddRequest, by caller: Peer) async throws {
        guard odd.isDripped else { return try await caller.send(ByteBuffer(latin1: odd.request)) }
        for byte in ByteBuffer(latin1: odd.request).readableBytesView {
            try await caller.send(ByteBuffer(bytes: [byte]))
        }
    }

    @Test func `more than 35 odd requests are tested`() {
        #expect(OddRequest.all.count > 35)
        #expect(Set(OddRequest.all.map(\.testDescription)).count == OddRequest.all.count)
        print("odd requests: \(OddRequest.all.count)")
    }
}
