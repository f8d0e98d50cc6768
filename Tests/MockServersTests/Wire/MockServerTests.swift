import MockServers
import NIOSSL
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct MockServerTests {
    @Test func `a busy port is told from other trouble`() async throws {
        try await MockServer.withRunning { address in
            let error = await #expect(throws: MockServerError.self) {
                try await MockServer.withRunning(MockOptions(port: address.port)) { _ in }
            }
            #expect(error?.code == .addressInUse)
            #expect(error?.message.contains("127.0.0.1:\(address.port)") == true)
        }
    }

    @Test(arguments: ["192.0.2.1", "no.such.host.invalid"])
    func `an address of somebody else is told from other trouble`(host: String) async throws {
        let error = await #expect(throws: MockServerError.self) {
            try await MockServer.withRunning(MockOptions(host: host)) { _ in }
        }
        #expect(error?.code == .addressUnavailable)
    }

    @Test func `it stops at once, whatever is under way`() async throws {
        try await self.stop(MockOptions(), trusting: nil)
    }

    @Test func `it stops at once with TLS, without waiting for goodbyes`() async throws {
        try await TLSFixture.withFiles { files in
            try await self.stop(MockOptions(tls: files), trusting: [TLSFixture.root])
        }
    }

    func stop(_ options: MockOptions, trusting roots: [NIOSSLCertificate]?) async throws {
        let address = Mutex<ListeningAddress?>(nil)
        let isOver = Mutex(false)
        // Not a child of this test: one that does not stop would keep it from failing.
        let server = Task {
            try await MockServer.run(options) { listening in address.withLock { $0 = listening } }
            isOver.withLock { $0 = true }
        }
        try await eventually { address.withLock { $0 } != nil }
        let mock = try #require(address.withLock { $0 })
        let clients = try await self.occupy(mock, trusting: roots)

        server.cancel()

        // Less than the 5 s that TLS would give the other side for its goodbye.
        try await eventually(within: .milliseconds(4_500)) { isOver.withLock { $0 } }
        for client in clients { client.cancel() }
        await #expect(throws: (any Error).self) { try await mock.stats(trusting: roots) }
    }

    /// Has one client at each thing that takes long; they stay until cancelled.
    func occupy(
        _ address: ListeningAddress,
        trusting roots: [NIOSSLCertificate]?
    ) async throws -> [Task<Void, any Error>] {
        let token: String = try await Wire.open(address, trusting: roots) { wire in
            let rules = #"[{"on": "token", "delay": "1h"}]"#
            try await wire.send(address.message("PUT", "/_control/faults", body: rules))
            #expect(await wire.response()?.status == 200)
            try await wire.send(address.message("POST", "/_control/grants", body: #"{"account": "a0"}"#))
            return try #require(await wire.response()).json(TokenReply.self).accessToken
        }
        let form = "\(ListeningAddress.client)&grant_type=client_credentials"
        var requests = ["/api/stream/9?every=1h", "/api/delay/3600000", "/api/bytes/900000000000"].map { path in
            address.message("GET", path, [("Authorization", "Bearer \(token)")])
        }
        requests.append(address.message("POST", "/oauth/token", ListeningAddress.formFields, body: form))
        // A connection with nothing going on.
        requests.append("")
        let clients = requests.map { request in
            Task {
                try await Wire.open(address, trusting: roots) { wire in
                    try await wire.send(request)
                    try await Task.sleep(for: .seconds(3_600))
                }
            }
        }
        try await eventually { try await address.stats(trusting: roots).apiRequests.ok == 3 }
        try await eventually { try await address.stats(trusting: roots).tokenRequestsAtOnce.any == 1 }
        return clients
    }

    @Test func `what the body throws comes out`() async throws {
        struct Trouble: Error {}
        await #expect(throws: Trouble.self) {
            try await MockServer.withRunning { _ in throw Trouble() }
        }
    }

    @Test func `an address with colons gets brackets`() {
        #expect("\(ListeningAddress(scheme: "http", host: "::1", port: 9090))" == "http://[::1]:9090")
    }
}
