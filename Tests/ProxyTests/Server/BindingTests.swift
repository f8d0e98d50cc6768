import Proxy
import SystemSupport
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct BindingTests {
    private func server(_ listeners: [ProxyConfiguration.Address], eventLoops: Int = 2) async -> ProxyServer {
        let listeners = listeners.map { ProxyConfiguration.Listener($0) }
        return await ProxyServer(
            ProxyConfiguration(listeners: listeners, routes: [], eventLoops: eventLoops),
            credentials: ScriptedCredentials()
        )
    }

    @Test func `a busy port is reported, and the ports bound before it are free again`() async throws {
        try await withRig { rig in
            let taken = ProxyConfiguration.Address(host: "127.0.0.1", port: rig.port)
            let second = await self.server([.init(host: "127.0.0.1", port: 0), taken])
            let error = await #expect(throws: ProxyError.self) { _ = try await second.bind() }
            #expect(error?.code == .addressUnavailable)
            #expect(error?.message.contains("127.0.0.1:\(rig.port)") == true)
            #expect(error?.message.contains("another process listens there") == true)
            #expect(await second.shutDown(grace: patience))
            // The first gateway still works.
            let caller = try await rig.caller()
            try await caller.send("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await caller.answer().head.status == 404)
        }
    }

    @Test func `a successor listens beside its predecessor, and alone once the predecessor has gone`() async throws {
        try await withRig { rig in
            let second = await self.server([.init(host: "127.0.0.1", port: rig.port)])
            #expect(try await second.bind(.successor) == [.init(host: "127.0.0.1", port: rig.port)])
            #expect(await rig.server.shutDown(grace: patience))
            for _ in 1...20 {
                let caller = try await rig.caller()
                try await caller.send("GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n")
                #expect(try await caller.answer().head.status == 404)
                caller.close()
            }
            _ = await second.shutDown(grace: .zero)
        }
    }

    @Test func `a port of another listener of the same process is not reported as another process's`() async throws {
        let reserved = try ReservedPort()
        let port = reserved.number
        #expect(close(reserved.give()) == 0)
        let server = await self.server([.init(host: "127.0.0.1", port: port), .init(host: "0.0.0.0", port: port)])
        let error = await #expect(throws: ProxyError.self) { _ = try await server.bind() }
        #expect(error?.code == .addressUnavailable)
        let message =
            "can't listen on 0.0.0.0:\(port): the listener on 127.0.0.1:\(port) has that port; change listeners"
        #expect(error?.message == message)
        _ = await server.shutDown(grace: .zero)
    }

    @Test func `a port of another process is reported as such, whatever this process binds elsewhere`() async throws {
        let taken = try ReservedPort()
        let port = taken.number
        let server = await self.server([.init(host: "127.0.0.2", port: port), .init(host: "127.0.0.1", port: port)])
        let error = await #expect(throws: ProxyError.self) { _ = try await server.bind() }
        #expect(error?.message.contains("another process listens there") == true)
        #expect(error?.message.contains("the listener on") == false)
        _ = await server.shutDown(grace: .zero)
    }

    @Test(arguments: ["192.0.2.1", "no-such-host.invalid"])
    func `an address that this machine does not have is reported`(host: String) async throws {
        let server = await self.server([.init(host: host, port: 0)])
        let error = await #expect(throws: ProxyError.self) { _ = try await server.bind() }
        #expect(error?.code == .addressUnavailable)
        #expect(error?.message.contains(host) == true)
        #expect(error?.message.contains("another process") == false && error?.message.contains("stop the") == false)
        _ = await server.shutDown(grace: .zero)
    }

    @Test func `each address without a port gets a port of its own`() async throws {
        let server = await self.server([.init(host: "127.0.0.1", port: 0), .init(host: "127.0.0.1", port: 0)])
        let bound = try await server.bind()
        #expect(bound.count == 2)
        #expect(bound.allSatisfy { $0.port > 0 })
        #expect(bound.first != bound.last)
        for address in bound {
            let caller = try await Peer.connect(to: address.port)
            try await caller.send("GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            #expect(try await caller.answer().head.status == 404)
        }
        _ = await server.shutDown(grace: .zero)
    }

    @Test func `an address is written as it is configured`() {
        #expect(ProxyConfiguration.Address(host: "127.0.0.1", port: 80).description == "127.0.0.1:80")
        #expect(ProxyConfiguration.Address(host: "::1", port: 8080).description == "[::1]:8080")
    }
}
