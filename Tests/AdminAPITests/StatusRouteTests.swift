internal import AdminAPI
internal import NIOHTTP1
internal import OAuth
internal import Testing
internal import TokenModel

@Suite struct StatusRouteTests {
    @Test func `health and readiness require no token`() async throws {
        try await AdminFixture.run { admin in
            let alive = try await admin.caller.send(.GET, "/healthz", authorization: nil)
            #expect(alive.status == 200)
            #expect(alive.body == "{\"alive\":true}\n")

            let ready = try await admin.caller.send(.GET, "/readyz", authorization: "Bearer wrong-canary")
            #expect(ready.status == 200)
            #expect(
                ready.body
                    == "{\"checks\":{\"lease_held\":true,\"listeners_bound\":true,\"store_open\":true},\"ready\":true}\n"
            )

            let head = try await admin.caller.send(.HEAD, "/readyz", authorization: nil)
            #expect(head.status == 200)
            #expect(head.body == "")
        }
    }

    @Test(arguments: [0, 1, 2])
    func `a process without its store or a listener is alive but not ready`(missing: Int) async throws {
        try await AdminFixture.run { admin in
            admin.monitor.change { vitals in
                switch missing {
                case 0: vitals.store.isOpen = false
                case 1: vitals.listeners[0].isBound = false
                default: vitals.listeners = []
                }
            }
            let ready = try await admin.caller.send(.GET, "/readyz", authorization: nil)
            #expect(ready.status == 503)
            let (store, listeners) = (missing != 0, missing == 0)
            #expect(
                ready.body == """
                    {"checks":{"lease_held":true,"listeners_bound":\(listeners),"store_open":\(store)},"ready":false}

                    """
            )
            #expect(try await admin.caller.send(.GET, "/healthz", authorization: nil).status == 200)
        }
    }

    @Test func `a stopping process is not ready and says that it is stopping`() async throws {
        try await AdminFixture.run { admin in
            admin.monitor.change { vitals in
                vitals.listeners[0].isBound = false
                vitals.isStopping = true
            }
            let ready = try await admin.caller.send(.GET, "/readyz", authorization: nil)
            #expect(ready.status == 503)
            #expect(ready.body.contains(#""ready":false,"stopping":true"#))
            let status = try await admin.caller.send(.GET, "/v1/status")
            #expect(status.body.contains(#""stopping":true"#))
        }
    }

    @Test func `the status shows a failed reload and what needs a restart`() async throws {
        try await AdminFixture.run { admin in
            // Given a gateway that runs with its current configuration
            let before = try await admin.caller.send(.GET, "/v1/status")
            #expect(!before.body.contains("configuration"))

            // When one reload leaves parts for a restart, and the next reload fails
            admin.monitor.change { vitals in
                vitals.configuration = GatewayVitals.Configuration(
                    refusal: GatewayVitals.Configuration.Refusal(
                        at: WallTime(millisecondsSince1970: 1_763_683_200_123),
                        code: "config_invalid",
                        faults: ["the first", "the second"]
                    ),
                    waitingParts: ["store"]
                )
            }

            // Then the status shows both, with the first fault
            let after = try await admin.caller.send(.GET, "/v1/status")
            #expect(
                after.body.contains(
                    #""configuration":{"needs_restart":["store"],"reload_failed":{"at":"2025-11-21T00:00:00.123Z","#
                        + #""code":"config_invalid","fault":"the first","faults":2}}"#
                )
            )
        }
    }

    @Test func `the status shows the process, its providers and accounts`() async throws {
        try await AdminFixture.run { admin in
            try await admin.caller.send(
                .PUT,
                "/v1/accounts/alice/tokens",
                #"{"refresh_token": "refresh-canary", "access_token": "access-canary"}"#
            )
            let answer = try await admin.caller.send(.GET, "/v1/status")

            #expect(answer.status == 200)
            let status = try answer.read(Status.self)
            #expect(status.version == "1.2.3")
            #expect(status.ready)
            #expect(status.replica.name == "a")
            #expect(status.replica.boot == "b00t")
            #expect(status.replica.started_at == "2025-11-21T00:00:00.123Z")
            #expect(status.store.driver == "memory")
            #expect(status.store.open)
            #expect(status.listeners.map(\.address) == ["127.0.0.1:8080"])
            #expect(status.providers.map(\.name) == ["acme"])
            #expect(status.providers.map(\.accounts) == [["valid": 1, "empty": 1]])
            #expect(status.accounts.map(\.name) == ["alice", "bob"])
        }
    }

    @Test func `the status shows the members of a family in numbers`() async throws {
        try await AdminFixture.run { admin in
            for name in ["customer-1", "customer-2"] {
                let tokens = #"{"refresh_token": "refresh-canary", "access_token": "access-canary"}"#
                try await admin.caller.send(.PUT, "/v1/accounts/\(name)/tokens", tokens)
            }
            let answer = try await admin.caller.send(.GET, "/v1/status")

            let family = #"{"accounts":2,"family":"customer-*","max":1000,"provider":"acme","states":{"valid":2}}"#
            #expect(answer.body.contains(#""families":[\#(family)]"#), "\(answer.body)")
            let status = try answer.read(Status.self)
            #expect(status.providers.map(\.accounts) == [["valid": 2, "empty": 2]])
            #expect(status.accounts.map(\.name) == ["alice", "bob"])
        }
    }

    @Test func `the status shows a provider that refuses the client even if its accounts are valid`() async throws {
        try await AdminFixture.run { admin in
            try await admin.caller.send(
                .PUT,
                "/v1/accounts/alice/tokens",
                #"{"refresh_token": "refresh-canary", "access_token": "access-canary"}"#
            )
            let before = try await admin.caller.send(.GET, "/v1/status").read(Status.self)
            admin.provider.answer(with: .config(.noKnownReason))
            try await admin.caller.send(.POST, "/v1/accounts/alice/refresh")

            let status = try await admin.caller.send(.GET, "/v1/status").read(Status.self)

            #expect(before.providers.map(\.state) == ["answering"])
            #expect(before.providers.map(\.retry_at) == [nil])
            #expect(status.accounts.first?.state == "valid")
            #expect(status.providers.map(\.state) == ["refuses_client"])
            #expect(status.providers.first?.retry_at?.hasSuffix("Z") == true)
        }
    }

    private struct Status: Decodable {
        struct Replica: Decodable {
            let name: String
            let boot: String
            let started_at: String
        }

        struct Store: Decodable {
            let driver: String
            let open: Bool
        }

        struct Listener: Decodable {
            let address: String
            let bound: Bool
        }

        struct Provider: Decodable {
            let name: String
            let state: String?
            let retry_at: String?
            let accounts: [String: Int]
        }

        let version: String
        let ready: Bool
        let replica: Replica
        let store: Store
        let listeners: [Listener]
        let providers: [Provider]
        let accounts: [Account]
    }
}
