import MockServers
import NIOSSL
import Synchronization
import TestKit
import Testing

@Suite(.timeLimit(.minutes(1))) struct MockServerTests {
    @Test func `a busy port has its own error code`() async throws {
        try await MockServer.withRunning { address in
            let error = await #expect(throws: MockServerError.self) {
                try await MockServer.withRunning(MockOptions(port: address.port)) { _ in }
            }
            #expect(error?.code == .addressInUse)
            #expect(error?.message.contains("127.0.0.1:\(address.port)") == true)
        }
    }

    @Test(arguments: ["192.0.2.1", "no.such.host.invalid"])
    func `an address of another machine has its own error code`(host: String) async throws {
        let error = await #expect(throws: MockServerError.self) {
            try await MockServer.withRunning(MockOptions(host: host)) { _ in }
        }
        #expect(error?.code == .addressUnavailable)
    }

    @Test func `the server stops at once, whatever requests are in progress`() async throws {
        try await self.stop(MockOptions(), trusting: nil)
    }

    @Test func `the server stops at once with TLS, without waiting for close alerts`() async throws {
        try await TLSFixture.withFiles { files in
            try await self.stop(MockOptions(tls: files), trusting: [TLSFixture.root])
        }
    }

    func stop(_ options: MockOptions, trusting roots: [NIOSSLCertificate]?) async throws {
        let address = Mutex<ListeningAddress?>(nil)
        let isOver = Mutex(false)
        // The task is not a child of this test. A child that does not stop would keep the test from failing.
        let server = Task {
            try await MockServer.run(options) { listening in address.withLock { $0 = listening } }
            isOver.withLock { $0 = true }
        }
        try await eventually("the server to listen") { address.withLock { $0 } != nil }
        let mock = try #require(address.withLock { $0 })
        let clients = try await self.occupy(mock, trusting: roots)

        server.cancel()

        try await eventually("the server to stop") { isOver.withLock { $0 } }
        for client in clients { client.cancel() }
        await #expect(throws: (any Error).self) { try await mock.stats(trusting: roots) }
    }

    /// Starts one client for each slow kind of request. The clients stay connected until they are cancelled.
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
        // An idle connection.
        requests.append("")
        let clients = requests.map { request in
            Task {
                try await Wire.open(address, trusting: roots) { wire in
                    try await wire.send(request)
                    try await Task.sleep(for: .seconds(3_600))
                }
            }
        }
        try await eventually("three API requests") { try await address.stats(trusting: roots).apiRequests.ok == 3 }
        try await eventually("a token request") {
            try await address.stats(trusting: roots).tokenRequestsAtOnce.any == 1
        }
        return clients
    }

    @Test func `an error that the body throws is passed on`() async throws {
        struct Trouble: Error {}
        await #expect(throws: Trouble.self) {
            try await MockServer.withRunning { _ in throw Trouble() }
        }
    }

    @Test func `an address with colons is written in brackets`() {
        #expect("\(ListeningAddress(scheme: "http", host: "::1", port: 9090))" == "http://[::1]:9090")
    }
}
