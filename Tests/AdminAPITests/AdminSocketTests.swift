internal import AdminAPI
internal import Foundation
internal import Glibc
internal import KillSwitch
internal import NIOHTTP1
internal import OAuth
internal import TestKit
internal import Testing
internal import TokenModel

/// The admin API on a Unix socket. The end-to-end tests show that other users are recognized there, with a program that
/// runs as another user.
@Suite struct AdminSocketTests {
    /// Runs `body` with an admin API that has a socket, and with a caller of that socket.
    private static func run(
        limits: AdminLimits = AdminLimits(refusalDelay: .milliseconds(1)),
        _ body: @escaping @Sendable (AdminFixture, AdminSocket, AdminCaller) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        let link = directory.path(of: "admin.sock")
        try await AdminFixture.run(limits: limits) { admin in
            let socket = try await AdminSocket.listen(beside: link, with: admin.server, limits: limits)
            let host = socket.path.replacing("/", with: "%2F")
            let caller = AdminCaller(base: "http+unix://\(host)", token: AdminFixture.adminToken)
            let running = Task { try await socket.run() }
            let outcome = await Result { try await body(admin, socket, caller) }
            socket.stop()
            try await within("the socket to end") { try await running.value }
            try await caller.close()
            try outcome.get()
        }
        #expect(try directory.contents() == ["admin.sock"])
    }

    @Test func `the gateway's own user needs no token on the socket, and a token that is sent counts`() async throws {
        try await Self.run { admin, _, caller in
            #expect(try await caller.send(.GET, "/v1/status", authorization: nil).status == 200)
            #expect(try await caller.send(.GET, "/v1/status").status == 200)
            let wrong = try await caller.send(.GET, "/v1/status", authorization: "Bearer wrong-canary-0123456789")
            #expect(wrong.problem == "admin_unauthorized")
            // The TCP port still requires a token
            #expect(try await admin.caller.send(.GET, "/v1/status", authorization: nil).status == 401)
        }
    }

    @Test func `a response names the gateway, but only to authenticated clients`() async throws {
        try await Self.run { admin, _, caller in
            let name = "a \(admin.kills.incarnation.rawValue.prefix(8))"
            for answer in [
                try await caller.send(.GET, "/v1/accounts", authorization: nil),
                try await admin.caller.send(.GET, "/v1/accounts"),
            ] {
                #expect(answer.headers.first(name: "martlet-gateway") == name)
            }
            for (path, authorization) in [("/v1/accounts", "Bearer wrong-canary-0123456789"), ("/healthz", nil)] {
                let answer = try await admin.caller.send(.GET, path, authorization: authorization)
                #expect(answer.headers.first(name: "martlet-gateway") == nil)
            }
        }
    }

    @Test func `the socket has no page for browsers`() async throws {
        try await Self.run { (admin: AdminFixture, _: AdminSocket, caller: AdminCaller) async throws in
            #expect(try await admin.caller.send(.GET, "/", authorization: nil).status == 200)
            #expect(try await caller.send(.GET, "/", authorization: nil).problem == "not_found")
        }
    }

    @Test func `the audit log says that a change came over the socket, and from which user`() async throws {
        try await Self.run { admin, _, caller in
            let body = Array(#"{"refresh_token": "refresh-canary"}"#.utf8)
            let answer = try await caller.send(
                .PUT,
                "/v1/accounts/alice/tokens",
                authorization: nil,
                bytes: body
            )
            #expect(answer.status == 200)
            let audit = try await admin.caller.send(.GET, "/v1/audit?after=0&limit=10")
            #expect(audit.body.contains(#""from":"unix socket, uid \#(geteuid())""#), "\(audit.body)")
        }
    }

    @Test func `the socket responds while all connections of the port are taken`() async throws {
        try await Self.run(limits: AdminLimits(connections: 2)) {
            (admin: AdminFixture, _: AdminSocket, caller: AdminCaller) async throws in
            // Given connections that send no complete request
            let silent = Task {
                try await withThrowingTaskGroup(of: Void.self) { connections in
                    for _ in 0..<8 {
                        connections.addTask {
                            _ = try await RawConnection.exchange(with: admin.server.address, sending: "GET", then: nil)
                        }
                    }
                    try await connections.waitForAll()
                }
            }
            defer { silent.cancel() }
            // Then an operator's requests still succeed
            for _ in 0..<20 {
                #expect(try await caller.send(.GET, "/v1/status", authorization: nil).status == 200)
            }
        }
    }

    @Test func `a stop lets the request in progress end and removes the socket at once`() async throws {
        try await Self.run { admin, socket, caller in
            try await admin.caller.send(.PUT, "/v1/accounts/alice/tokens", #"{"refresh_token": "refresh-canary"}"#)
            let gate = Gate()
            admin.provider.hold(at: gate)
            admin.provider.answer(
                with: .success(
                    TokenGrant(accessToken: Secret("access-canary"), refreshToken: nil, lifetime: .seconds(60))
                )
            )
            async let answer = caller.send(.POST, "/v1/accounts/alice/refresh", authorization: nil)
            try await eventually("the exchange to begin") { gate.waitingCount == 1 }
            socket.stop()
            #expect(!FileManager.default.fileExists(atPath: socket.path))
            gate.open()
            #expect(try await answer.status == 200)
        }
    }
}
