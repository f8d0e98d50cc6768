import MockServers
import NIOSSL
import Testing

@Suite(.timeLimit(.minutes(1))) struct TLSTests {
    @Test func `the issuer is an https URL, and a dropped connection carries no byte`() async throws {
        struct Discovery: Decodable { let issuer: String }

        try await TLSFixture.withFiles { files in
            try await MockServer.withRunning(MockOptions(tls: files)) { address in
                let roots = [try TLSFixture.root]
                #expect("\(address)".hasPrefix("https://127.0.0.1:"))
                let discovery: Discovery = try await Wire.open(address, trusting: roots) { wire in
                    try await wire.send(address.message("GET", "/.well-known/openid-configuration"))
                    return try #require(await wire.response()).json()
                }
                #expect(discovery.issuer == "\(address)")

                let rules = #"[{"on": "api", "drop": "before"}]"#
                try await Wire.open(address, trusting: roots) { wire in
                    try await wire.send(address.message("PUT", "/_control/faults", body: rules))
                    #expect(await wire.response()?.status == 200)
                    try await wire.send(address.message("GET", "/api/echo"))
                    #expect(await wire.readToEnd().isEmpty)
                }
            }
        }
    }

    @Test func `unusable certificate files cause an error that names them`() async throws {
        let files = MockOptions.TLSFiles(certificate: "/nonexistent/cert.pem", privateKey: "/nonexistent/key.pem")
        let error = try #require(
            await #expect(throws: MockServerError.self) {
                try await MockServer.withRunning(MockOptions(tls: files)) { _ in }
            }
        )
        #expect(error.code == .badCertificate)
        #expect(error.message.contains("/nonexistent/cert.pem"))
    }
}
