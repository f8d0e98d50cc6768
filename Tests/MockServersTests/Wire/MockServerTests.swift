import MockServers
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
        try await withThrowingTaskGroup(of: Void.self) { clients in
            let (address, ended) = try await MockServer.withRunning { address in
                let token = try await address.grant().accessToken
                let form = "\(ListeningAddress.client)&grant_type=client_credentials"
                try await address.faults(#"[{"on": "token", "delay": "1h"}]"#)
                var requests = ["/api/stream/9?every=1h", "/api/delay/3600000", "/api/bytes/900000000000"].map { path in
                    address.message("GET", path, [("Authorization", "Bearer \(token)")])
                }
                requests.append(address.message("POST", "/oauth/token", ListeningAddress.formFields, body: form))
                // A connection with nothing going on.
                requests.append("")
                for request in requests {
                    clients.addTask {
                        try await Wire.open(address) { wire in
                            try await wire.send(request)
                            try await Task.sleep(for: .seconds(3_600))
                        }
                    }
                }
                try await eventually { try await address.stats().apiRequests.ok == 3 }
                try await eventually { try await address.stats().tokenRequestsAtOnce.any == 1 }
                return (address, ContinuousClock.now)
            }
            #expect(ContinuousClock.now - ended < .seconds(5))
            await #expect(throws: (any Error).self) { try await address.stats() }
            clients.cancelAll()
        }
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
