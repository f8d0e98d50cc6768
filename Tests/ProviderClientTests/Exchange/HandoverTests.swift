import NIOCore
import NIOPosix
import OAuth
import ProviderClient
import Synchronization
import TestKit
import Testing
import TokenModel

extension LoopbackTests {
    /// Whether a refresh token may have been used, for every point at which an exchange can end.
    @Suite struct HandoverTests {
        @Test func `a refusing port means not sent, and the right to send is not asked`() async throws {
            let asked = Mutex(0)
            try await withEndpoint(at: "http://127.0.0.1:\(ScriptedServer.refusingPort)") { endpoint in
                let verdict = await endpoint.redeem(Secret("R1"), scopes: []) {
                    asked.withLock { $0 += 1 }
                    return true
                }
                #expect(verdict == .notSent(.connectFailed))
            }
            #expect(asked.withLock { $0 } == 0)
        }

        @Test func `a host without an address means not sent`() async throws {
            // DNS does not allow a label of 64 letters, so no query leaves this machine.
            let host = String(repeating: "a", count: 64) + ".invalid"
            try await withEndpoint(at: "https://\(host)") { endpoint in
                #expect(await endpoint.redeem() == .notSent(.nameUnresolved))
            }
        }

        @Test func `a server too busy to accept means not sent, after two seconds`() async throws {
            // The server never accepts. Its queue of one fills up, and later connections are not established.
            let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: 1)
                .serverChannelOption(.autoRead, value: false)
                .bind(host: "127.0.0.1", port: 0)
                .get()
            let port = try #require(server.localAddress?.port)
            let connected = Mutex(0)
            let waiting = (0..<4).map { _ in
                ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).connect(host: "127.0.0.1", port: port)
                    .always { if case .success = $0 { connected.withLock { $0 += 1 } } }
            }
            try await eventually("the queue is full: Linux lets one more in than the backlog says") {
                connected.withLock { $0 } >= 2
            }

            try await withEndpoint(at: "http://127.0.0.1:\(port)") { endpoint in
                let start = ContinuousClock.now
                #expect(await endpoint.redeem() == .notSent(.connectFailed))
                #expect(ContinuousClock.now - start >= .milliseconds(1900))
            }
            try await server.close()
            for connection in waiting { try? await connection.get().close() }
        }

        @Test func `without the right to send, the form is not sent`() async throws {
            let server = try await ScriptedServer { _ in .close }
            try await withEndpoint(at: server.origin) { endpoint in
                let verdict = await endpoint.redeem(Secret("canary"), scopes: [], mayStillSend: { false })
                #expect(verdict == .notSent(.sendingTooLate))
            }
            try await eventually("the connection is closed") { server.closedConnections == 1 }
            #expect(server.requests.allSatisfy { $0.body.isEmpty && !$0.isWhole })
            await server.stop()
        }

        @Test func `the right to send is asked once`() async throws {
            let asked = Mutex(0)
            let server = try await ScriptedServer { _ in .bytes(http("200 OK", #"{"access_token":"A"}"#)) }
            try await withEndpoint(at: server.origin) { endpoint in
                _ = await endpoint.redeem(Secret("R1"), scopes: []) {
                    asked.withLock { $0 += 1 }
                    return true
                }
            }
            #expect(asked.withLock { $0 } == 1)
            await server.stop()
        }

        @Test func `an early hang-up is ambiguous only if the right to send was asked`() async throws {
            let server = try await ScriptedServer(closesOnAccept: true) { _ in .close }
            try await withEndpoint(at: server.origin) { endpoint in
                for _ in 0..<20 {
                    let asked = Mutex(false)
                    let verdict = await endpoint.redeem(Secret("R1"), scopes: []) {
                        asked.withLock { $0 = true }
                        return true
                    }
                    // Timing decides which verdict comes. The verdict must match whether the right to send was asked.
                    switch verdict {
                    case .notSent: #expect(asked.withLock { $0 } == false)
                    case .ambiguous: #expect(asked.withLock { $0 } == true)
                    default: Issue.record("\(verdict)")
                    }
                }
            }
            await server.stop()
        }

        @Test func `a hang-up after the request is ambiguous`() async throws {
            let server = try await ScriptedServer { _ in .close }
            try await withEndpoint(at: server.origin) { endpoint in
                #expect(await endpoint.redeem() == .ambiguous(.connectionLost))
            }
            #expect(server.requests.count == 1)
            await server.stop()
        }
    }
}
