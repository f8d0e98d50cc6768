import NIOCore
import Proxy
import Testing

/// Fields that an upstream may take for the one that carries the token, because it reads `_` as `-`.
@Suite struct LookalikeTests {
    @Test(arguments: [("X-Api-Key", "X_Api_Key"), ("X-Api-Key", "x-api_key"), ("my_api_key", "My-Api_Key")])
    func `a field that may be read as the injected one is refused`(header: String, name: String) async throws {
        try await withRig(.route { $0.injection.header = header }) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/x HTTP/1.1\r\nHost: a\r\n\(name): canary\r\n\r\n")
            let (head, body) = try await caller.answer()
            #expect(head.status == 400 && head["Connection"] == "close")
            #expect(body.contains("urn:martlet:error:bad_request") && !body.contains("canary"))
            #expect(rig.upstream.connections == 0)
        }
    }

    @Test(arguments: [("X-Api-Key", "x-api-key"), ("my_api_key", "MY_API_KEY"), ("my_api_key", "My-Api-Key")])
    func `a field with the name of the injected one, as SDKs send it, is replaced by the token`(
        header: String,
        name: String
    ) async throws {
        try await withRig(.route { $0.injection.header = header }) { rig in
            let caller = try await rig.caller()
            try await caller.send("GET /acme/x HTTP/1.1\r\nHost: a\r\n\(name): canary\r\nclient_id: 7\r\n\r\n")
            let upstream = try await rig.upstream.accept()
            let head = try await upstream.head()
            #expect(head[header] == "Bearer token-1")
            #expect(head["client_id"] == "7")
            #expect(!head.fields.contains { $0.value == "canary" })
        }
    }
}
