import NIOCore
import NIOPosix
import Proxy
import Testing

@Suite struct SocketFastPathHandlerTests {
    /// Counts the writes that reach the channel.
    private final class Passage: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private(set) var writes = 0

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            self.writes += 1
            context.write(data, promise: promise)
        }
    }

    /// A connection with the handler in its pipeline. A test plays the other end.
    private struct Connection: Sendable {
        let upstream: Upstream
        let channel: any Channel
        let peer: Peer
        let passage: NIOLoopBound<Passage>

        static func make() async throws -> Connection {
            let upstream = try await Upstream.start(isNarrow: true)
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandlers([Passage(), SocketFastPathHandler()])
                    }
                }
                .connect(host: "127.0.0.1", port: upstream.port).get()
            let passage = try await channel.eventLoop.submit {
                NIOLoopBound(
                    try channel.pipeline.syncOperations.handler(type: Passage.self),
                    eventLoop: channel.eventLoop
                )
            }.get()
            return Connection(upstream: upstream, channel: channel, peer: try await upstream.accept(), passage: passage)
        }

        /// Runs `work` on the connection's event loop, in one tick.
        func onLoop(_ work: @escaping @Sendable (any Channel) -> Void) async throws {
            let channel = self.channel
            try await channel.eventLoop.submit { work(channel) }.get()
        }

        /// The number of pieces that have reached the channel.
        func passed() async throws -> Int {
            let passage = self.passage
            return try await self.channel.eventLoop.submit { passage.value.writes }.get()
        }

        func end() async throws {
            try? await self.channel.close().get()
            try await self.upstream.stop()
        }
    }

    @Test func `if the kernel has space, a flushed piece leaves without the channel`() async throws {
        let connection = try await Connection.make()
        try await connection.onLoop { $0.writeAndFlush(ByteBuffer(string: "hello"), promise: nil) }
        #expect(String(buffer: try await connection.peer.bytes(5)) == "hello")
        #expect(try await connection.passed() == 0)
        try await connection.end()
    }

    @Test func `a piece leaves with its flush and not before`() async throws {
        let connection = try await Connection.make()
        try await connection.onLoop { $0.write(ByteBuffer(string: "first"), promise: nil) }
        #expect(try await connection.passed() == 0)
        try await connection.onLoop { $0.writeAndFlush(ByteBuffer(string: " second"), promise: nil) }
        #expect(String(buffer: try await connection.peer.bytes(12)) == "first second")
        #expect(try await connection.passed() == 2)
        try await connection.end()
    }

    @Test func `a write promise succeeds when its piece has left, after everything written before`() async throws {
        let connection = try await Connection.make()
        let written = connection.channel.eventLoop.makePromise(of: Void.self)
        try await connection.onLoop { channel in
            channel.write(ByteBuffer(string: "first "), promise: nil)
            channel.writeAndFlush(ByteBuffer(string: "second"), promise: written)
            channel.writeAndFlush(ByteBuffer(string: " third"), promise: nil)
        }
        try await written.futureResult.get()
        #expect(String(buffer: try await connection.peer.bytes(18)) == "first second third")
        try await connection.end()
    }

    @Test func `if the peer does not read, what the kernel refuses follows what it took, in order`() async throws {
        let connection = try await Connection.make()
        var expected = ByteBuffer()
        for number in 0..<200 where try await connection.passed() < 3 {
            let piece = ByteBuffer(bytes: (0..<10_000).map { UInt8(truncatingIfNeeded: $0 / 251 &+ $0 &+ number) })
            expected.writeImmutableBuffer(piece)
            try await connection.onLoop { $0.writeAndFlush(piece, promise: nil) }
        }
        // One piece that the kernel took in part, and two that it was not offered.
        #expect(try await connection.passed() == 3)
        #expect(try await connection.peer.bytes(expected.readableBytes) == expected)
        try await connection.end()
    }
}
