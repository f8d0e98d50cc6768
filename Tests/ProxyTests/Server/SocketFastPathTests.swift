import NIOCore
import NIOPosix
import Proxy
import TestKit
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct SocketFastPathTests {
    /// A connection, its other end, and the fast path, which only the connection's event loop may use.
    private struct Connection: Sendable {
        let upstream: Upstream
        let channel: any Channel
        let peer: Peer
        let output: NIOLoopBoundBox<SocketFastPath>

        static func make() async throws -> Connection {
            let upstream = try await Upstream.start(isNarrow: true)
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: upstream.port).get()
            let output = try await channel.eventLoop.submit {
                NIOLoopBoundBox(try #require(SocketFastPath(channel)), eventLoop: channel.eventLoop)
            }.get()
            return Connection(upstream: upstream, channel: channel, peer: try await upstream.accept(), output: output)
        }

        /// Sends a piece, and returns how many of its bytes are left.
        func send(_ piece: ByteBuffer) async throws -> Int {
            let output = self.output
            return try await self.channel.eventLoop.submit {
                var rest = piece
                let isSent = output.value.send(&rest)
                #expect(isSent == (rest.readableBytes == 0))
                return rest.readableBytes
            }.get()
        }

        /// Sends a piece as a connection does: the channel sends what the kernel does not take.
        ///
        /// - Returns: whether the channel was needed.
        func write(_ piece: ByteBuffer) async throws -> Bool {
            let (output, channel) = (self.output, self.channel)
            return try await channel.eventLoop.submit {
                var rest = piece
                if output.value.send(&rest) { return false }
                output.value.usesChannel()
                channel.writeAndFlush(rest, promise: nil)
                return true
            }.get()
        }

        func end() async throws {
            try? await self.channel.close().get()
            try await self.upstream.stop()
        }
    }

    private func piece(_ number: Int) -> ByteBuffer {
        ByteBuffer(bytes: (0..<10_000).map { UInt8(truncatingIfNeeded: $0 / 251 &+ $0 &+ number) })
    }

    @Test func `if the kernel has space, a piece leaves without the channel`() async throws {
        let connection = try await Connection.make()
        #expect(try await connection.send(ByteBuffer(string: "hello")) == 0)
        #expect(String(buffer: try await connection.peer.bytes(5)) == "hello")
        try await connection.end()
    }

    @Test func `if the peer does not read, what the kernel refuses follows what it took, in order`() async throws {
        let connection = try await Connection.make()
        var expected = ByteBuffer()
        var waited = 0
        for number in 0..<200 where waited < 3 {
            expected.writeImmutableBuffer(self.piece(number))
            waited += try await connection.write(self.piece(number)) ? 1 : 0
        }
        // One piece that the kernel took in part, and two that it was not offered.
        #expect(waited == 3)
        #expect(try await connection.peer.bytes(expected.readableBytes) == expected)
        // The channel is empty, so the fast path is open again.
        try await eventually("the channel to have sent all") {
            try await connection.write(ByteBuffer(string: "x")) == false
        }
        try await connection.end()
    }

    @Test func `nothing overtakes unflushed bytes in the channel`() async throws {
        let connection = try await Connection.make()
        let (channel, output) = (connection.channel, connection.output)
        try await channel.eventLoop.submit {
            output.value.usesChannel()
            channel.write(ByteBuffer(string: "first "), promise: nil)
        }.get()
        #expect(try await connection.send(ByteBuffer(string: "second")) == 6)
        channel.writeAndFlush(ByteBuffer(string: "second"), promise: nil)
        #expect(String(buffer: try await connection.peer.bytes(12)) == "first second")
        try await connection.end()
    }

    @Test func `after the channel is closed, nothing goes to the next socket with the same number`() async throws {
        var wasTaken = false
        // Another thread may take the number first. The test then tries again.
        for _ in 0..<20 where !wasTaken {
            let connection = try await Connection.make()
            let (channel, output) = (connection.channel, connection.output)
            wasTaken = try await channel.eventLoop.submit {
                let operations = channel.pipeline.syncOperations
                let number = try operations.withUnsafeTransportIfAvailable(of: CInt.self) { $0 }
                let next = try SocketPair()
                channel.close(promise: nil)
                // This is still the same tick, and nobody has been notified yet.
                let copy = fcntl(next.near, F_DUPFD, try #require(number))
                defer { close(copy) }
                var rest = ByteBuffer(string: "late")
                let isSent = output.value.send(&rest)
                let isEmpty = next.isEmpty
                #expect(!isSent && rest.readableBytes == 4)
                #expect(isEmpty)
                return copy == number
            }.get()
            try await connection.end()
        }
        #expect(wasTaken)
    }

    @Test func `after a reset by the peer everything is left to the channel`() async throws {
        let connection = try await Connection.make()
        try await connection.peer.reset()
        try await eventually("the reset to arrive") { try await connection.send(ByteBuffer(string: "late")) == 4 }
        try await connection.end()
    }
}

/// Two sockets that are connected to each other.
private struct SocketPair: ~Copyable {
    let near: CInt
    private let far: CInt

    init() throws {
        var pair: [CInt] = [-1, -1]
        guard unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &pair) == 0 else {
            throw IOError(errnoCode: errno, reason: "socketpair")
        }
        (self.near, self.far) = (pair[0], pair[1])
    }

    deinit {
        close(self.near)
        close(self.far)
    }

    /// Whether nothing has come from the near socket.
    var isEmpty: Bool {
        var byte: UInt8 = 0
        return unsafe recv(self.far, &byte, 1, CInt(MSG_DONTWAIT)) < 0 && errno == EAGAIN
    }
}
