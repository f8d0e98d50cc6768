internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import Synchronization
internal import SystemSupport
internal import Testing

@Suite struct ConnectionListenerTests {
    private static func bind(
        on loops: MultiThreadedEventLoopGroup,
        port: Int = 0,
        _ tally: Tally,
        as claim: PortClaim = .exclusive
    ) async throws -> ConnectionListener<NIOAsyncChannel<ByteBuffer, ByteBuffer>> {
        try await ConnectionListener.bind(
            host: "127.0.0.1",
            port: port,
            claim: claim,
            backlog: 64,
            on: loops,
            prepare: { channel in
                channel.eventLoop.makeCompletedFuture {
                    tally.prepared.add(1, ordering: .relaxed)
                    return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
                }
            },
            handle: { connection in
                // Echoes until the client closes the connection or the listener stops.
                try? await connection.executeThenClose { inbound, outbound in
                    for try await bytes in inbound { try await outbound.write(bytes) }
                }
                tally.handled.add(1, ordering: .relaxed)
            }
        )
    }

    @Test func `every accepted connection is handled, even if it arrives while the listener stops`()
        async throws
    {
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let tally = Tally()
        for round in 0..<200 {
            let listener = try await Self.bind(on: loops, tally)
            let port = try #require(listener.channel.localAddress?.port)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                let run = Task { await listener.run() }
                for number in 0..<8 {
                    tasks.addTask {
                        let client = try? await ClientBootstrap(group: loops).connect(host: "127.0.0.1", port: port)
                            .get()
                        if number == round % 8 { run.cancel() }
                        try? await client?.close()
                    }
                }
                try await tasks.waitForAll()
                await run.value
            }
        }
        #expect(tally.prepared.load(ordering: .relaxed) > 0)
        #expect(tally.handled.load(ordering: .relaxed) == tally.prepared.load(ordering: .relaxed))
        try await loops.shutdownGracefully()
    }

    @Test func `connections wait until the listener runs, and closing it lets open connections end`() async throws {
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let tally = Tally()
        let listener = try await Self.bind(on: loops, tally)
        let port = try #require(listener.channel.localAddress?.port)
        let client = try await ClientBootstrap(group: loops).connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
            }
        }
        #expect(tally.prepared.load(ordering: .relaxed) == 0)

        let run = Task { await listener.run() }
        try await client.executeThenClose { inbound, outbound in
            var answers = inbound.makeAsyncIterator()
            try await outbound.write(ByteBuffer(string: "one"))
            #expect(try await answers.next() == ByteBuffer(string: "one"))

            listener.close()
            try await listener.channel.closeFuture.get()
            try await outbound.write(ByteBuffer(string: "two"))
            #expect(try await answers.next() == ByteBuffer(string: "two"))
        }
        await run.value
        #expect(tally.handled.load(ordering: .relaxed) == 1)
        try await loops.shutdownGracefully()
    }

    @Test func `a port in use is told from an unavailable address or name`() async throws {
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let listener = try await Self.bind(on: loops, Tally())
        let port = try #require(listener.channel.localAddress?.port)

        let taken = await #expect(throws: (any Error).self) { _ = try await Self.bind(on: loops, port: port, Tally()) }
        #expect(taken.map(ListenFault.init) == .inUse)
        for host in ["192.0.2.1", "no.such.host.invalid"] {
            let fault = await #expect(throws: (any Error).self) {
                _ = try await ServerBootstrap(group: loops).bind(host: host, port: 0).get()
            }
            #expect(fault.map(ListenFault.init) == .unavailable, "\(host)")
        }

        let run = Task { await listener.run() }
        run.cancel()
        await run.value
        try await loops.shutdownGracefully()
    }

    @Test(arguments: [
        (PortClaim.first, PortClaim.successor, true), (.successor, .successor, true), (.first, .first, false),
        (.first, .exclusive, false), (.exclusive, .successor, false), (.exclusive, .first, false),
    ])
    func `a port is shared only with a successor, and only if the older listener allows one`(
        older: PortClaim,
        newer: PortClaim,
        isShared: Bool
    ) async throws {
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let first = try await Self.bind(on: loops, Tally(), as: older)
        let port = try #require(first.channel.localAddress?.port)
        let second = try? await Self.bind(on: loops, port: port, Tally(), as: newer)
        #expect((second != nil) == isShared)
        for listener in [first, second] { try await listener?.channel.close() }
        try await loops.shutdownGracefully()
    }

    @Test(arguments: [
        (EADDRINUSE, ListenFault.inUse, "another process listens there"),
        (EADDRNOTAVAIL, .unavailable, "this machine has no such address"),
        (EACCES, .notAllowed, "this user may not listen there, as with ports below 1024"),
        (EPERM, .notAllowed, "this user may not listen there, as with ports below 1024"),
        (EROFS, .system(EROFS), "the system says: Read-only file system (30)"),
        (EMFILE, .system(EMFILE), "the system says: Too many open files (24)"),
    ])
    func `each system error has a fault and a reason`(code: CInt, fault: ListenFault, reason: String) {
        #expect(ListenFault(errno: code) == fault)
        #expect(ListenFault(IOError(errnoCode: code, reason: "bind")) == fault)
        #expect(fault.reason == reason)
    }
}

/// The number of prepared connections, and the number of those that were handled to their end.
private final class Tally: Sendable {
    let prepared = Atomic(0)
    let handled = Atomic(0)
}
