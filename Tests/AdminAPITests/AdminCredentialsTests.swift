internal import AdminAPI
internal import TestKit
internal import Testing

@Suite struct AdminCredentialsTests {
    @Test(arguments: [
        ["Bearer wrong-canary", "Bearer \(AdminFixture.adminToken)"],
        ["Bearer \(AdminFixture.adminToken)", "Bearer wrong-canary"],
        ["Bearer \(AdminFixture.adminToken)", "Bearer \(AdminFixture.adminToken)"],
    ])
    func `two Authorization fields are refused even if one of them is right`(values: [String]) async throws {
        try await AdminFixture.run { admin in
            let fields = values.map { "Authorization: \($0)\r\n" }.joined()
            let answer = try await RawConnection.exchange(
                with: admin.server.address,
                sending: "GET /v1/accounts HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\(fields)\r\n",
                then: nil
            )
            #expect(answer.hasPrefix("HTTP/1.1 401 "))
            #expect(!answer.contains("canary"))
        }
    }
}
