internal import AdminAPI
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Synchronization
internal import TestKit
internal import Testing

/// A client that holds many silent connections open.
@Suite struct AdminSiegeTests {
    /// Limits under which only a newcomer ends a connection.
    private static func patient(_ connections: Int) -> AdminLimits {
        AdminLimits(
            refusalDelay: .milliseconds(1),
            connections: connections,
            firstHeadTime: .seconds(600),
            idleTime: .seconds(600)
        )
    }

    @Test func `given 600 silent connections, a right token is accepted`() async throws {
        try await AdminFixture.run(limits: Self.patient(512)) { admin in
            try await Self.besiege(admin, by: 600) { _ in
                let answer = try await within("an answer") {
                    try await admin.caller.send(.GET, "/v1/accounts")
                }
                #expect(answer.status == 200)
                let kill = try await within("a kill") {
                    try await admin.caller.send(.POST, "/v1/kill", #"{"scope":{"all":true},"reason":"drill"}"#)
                }
                #expect(kill.status == 200)
            }
            #expect(admin.logs.lines.count { $0.contains("does somebody hold connections open?") } == 1)
        }
    }

    @Test func `given 64 wrong tokens that wait, silent connections replace them, and a right token is accepted`()
        async throws
    {
        let gate = Gate()
        try await AdminFixture.run(limits: Self.patient(128), clock: GatedClock(gate: gate)) { admin in
            defer { gate.open() }
            try await withThrowingTaskGroup(of: Int?.self) { attempts in
                for _ in 0..<64 {
                    attempts.addTask {
                        try? await admin.caller.send(.GET, "/v1/accounts", authorization: "Bearer wrong-canary").status
                    }
                }
                try await eventually("64 refusals to wait") { gate.waitingCount == 64 }
                try await Self.besiege(admin, by: 200) { _ in
                    let answer = try await admin.caller.send(.GET, "/v1/accounts")
                    #expect(answer.status == 200)
                }
                gate.open()
                // The waiting connections were the oldest strangers.
                for try await status in attempts { #expect(status == nil) }
            }
        }
    }

    @Test func `given a connection that has shown a token, silent ones do not displace it`() async throws {
        try await AdminFixture.run(limits: Self.patient(16)) { admin in
            let known = try await Conversation(with: admin.server.address)
            let token = "Authorization: Bearer \(AdminFixture.adminToken)\r\n"
            let first = try await known.ask("GET /v1/replicas HTTP/1.1\r\nHost: a\r\n\(token)\r\n")
            #expect(first.hasPrefix("HTTP/1.1 200 "))
            try await Self.besiege(admin, by: 64) { silent in
                try await eventually("silent ones to be pushed out") { silent.count { !$0.isActive } >= 64 - 15 }
                let again = try await known.ask("GET /v1/replicas HTTP/1.1\r\nHost: a\r\n\(token)\r\n")
                #expect(again.hasPrefix("HTTP/1.1 200 "))
            }
            try await known.close()
        }
    }

    @Test(arguments: ["", "G", "GET /healthz HTTP/1.1\r\nHost: a\r\n"])
    func `a connection without a complete head is closed in time`(bytes: String) async throws {
        try await AdminFixture.run(limits: AdminLimits(firstHeadTime: .milliseconds(100))) { admin in
            let outcome = try await RawConnection.exchange(with: admin.server.address, sending: bytes, then: nil)
            #expect(outcome == "")
        }
    }

    @Test func `a connection with a complete head is not closed while its response waits`() async throws {
        let status = try await withEnoughTime("the head to arrive") { time in
            let status = Mutex<Int?>(nil)
            let limits = AdminLimits(refusalDelay: time * 2, firstHeadTime: time)
            try await AdminFixture.run(limits: limits) { admin in
                let answer = try? await admin.caller.send(.GET, "/v1/accounts", authorization: nil)
                status.withLock { $0 = answer?.status }
            }
            return status.withLock { $0 }
        }
        #expect(status == 401)
    }

    @Test func `at the limit of waiting wrong tokens the next is refused at once, and a right one accepted`()
        async throws
    {
        let gate = Gate()
        try await AdminFixture.run(limits: Self.patient(16), clock: GatedClock(gate: gate)) { admin in
            defer { gate.open() }
            try await withThrowingTaskGroup(of: Int.self) { attempts in
                for _ in 0..<8 {
                    attempts.addTask {
                        try await admin.caller.send(.GET, "/v1/accounts", authorization: "Bearer wrong-canary").status
                    }
                }
                try await eventually("eight refusals to wait") { gate.waitingCount == 8 }
                let refusal = try await within("a refusal") {
                    try await admin.caller.send(.GET, "/v1/accounts", authorization: "Bearer wrong-canary")
                }
                #expect(refusal.status == 429)
                #expect(gate.waitingCount == 8)
                let answer = try await admin.caller.send(.GET, "/v1/accounts")
                #expect(answer.status == 200)
                gate.open()
                for try await status in attempts { #expect(status == 401) }
            }
        }
    }

    /// Holds silent connections open while `body` runs.
    private static func besiege(
        _ admin: AdminFixture,
        by count: Int,
        _ body: ([any Channel]) async throws -> Void
    ) async throws {
        let address = admin.server.address
        var silent: [any Channel] = []
        for _ in 0..<count {
            silent.append(
                try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                    .connect(host: address.host, port: address.port).get()
            )
        }
        let outcome = await Result { try await body(silent) }
        for connection in silent { try? await connection.close() }
        try outcome.get()
    }
}

/// A connection that sends requests and reads their responses.
private final class Conversation: Sendable {
    private let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>
    private let running: Task<Void, any Error>
    private let requests: AsyncStream<String>.Continuation
    private let answers: AsyncStream<String>

    init(with address: AdminAddress) async throws {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: address.host, port: address.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        let (requests, asking) = AsyncStream<String>.makeStream()
        let (answers, answering) = AsyncStream<String>.makeStream()
        (self.channel, self.requests, self.answers) = (channel, asking, answers)
        self.running = Task {
            defer { answering.finish() }
            try await channel.executeThenClose { inbound, outbound in
                var parts = inbound.makeAsyncIterator()
                for await request in requests {
                    try await outbound.write(ByteBuffer(string: request))
                    // Small responses arrive in one piece.
                    guard let answer = try await parts.next() else { return }
                    answering.yield(String(buffer: answer))
                }
            }
        }
    }

    /// - Returns: the beginning of the response; empty if the connection has ended.
    func ask(_ request: String) async throws -> String {
        self.requests.yield(request)
        return try await within("an answer") {
            for await answer in self.answers { return answer }
            return ""
        }
    }

    func close() async throws {
        self.requests.finish()
        _ = await self.running.result
    }
}
