import NIOCore
import NIOPosix
import Synchronization
import TestKit

/// An upstream with an event loop of its own. It responds to each request, to some of them late, and counts the tokens
/// that arrive.
final class HeadRecorder: Sendable {
    private struct State {
        /// The number of heads by the number of their token.
        var seen: [UInt64: Int] = [:]
        /// Tokens up to this number must not arrive any more.
        var dead: UInt64 = 0
        var violations: [UInt64] = []
    }

    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let state = Mutex(State())
    private let listener = Mutex<(any Channel)?>(nil)

    /// - Returns: the port that the upstream listens on.
    func start() async throws -> Int {
        let listener = try await ServerBootstrap(group: self.group)
            .serverChannelOption(.backlog, value: 1_024)
            .serverChannelOption(.maxMessagesPerRead, value: 64)
            .childChannelOption(.maxMessagesPerRead, value: 64)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(HeadReader { self.came($0) })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        self.listener.withLock { $0 = listener }
        return listener.localAddress?.port ?? 0
    }

    func stop() async throws { try await self.group.shutdownGracefully() }

    private func came(_ token: UInt64) {
        self.state.withLock { state in
            state.seen[token, default: 0] += 1
            if token <= state.dead { state.violations.append(token) }
        }
    }

    func seen(_ token: UInt64) -> Int { self.state.withLock { $0.seen[token] ?? 0 } }

    /// The numbers of tokens that arrived when they were dead already, one for each head.
    var violations: [UInt64] { self.state.withLock(\.violations) }

    /// From now on tokens up to `token` must not arrive. Call it while nobody sends any: the kernel delivers with a delay
    /// what was sent before, so this waits until it has come and is read.
    func forbid(_ token: UInt64) async throws {
        let port = self.listener.withLock { $0?.localAddress?.port } ?? 0
        try await eventually("what was sent to have arrived") {
            try Transit.sockets().allSatisfy { $0.otherPort != port || $0.unacknowledged == 0 }
        }
        try await eventually("what has arrived to be read") {
            try Transit.sockets().allSatisfy { $0.ownPort != port || $0.unread == 0 }
        }
        // It is counted in the turn that has read it.
        try await self.group.any().submit {}.get()
        self.state.withLock { $0.dead = token }
    }
}

/// Reads heads without a body from a connection.
private final class HeadReader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var text = ""
    private var count = 0
    private let came: (UInt64) -> Void

    init(_ came: @escaping (UInt64) -> Void) { self.came = came }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.text += String(buffer: self.unwrapInboundIn(data))
        while let end = self.text.firstRange(of: "\r\n\r\n") {
            let head = self.text[..<end.lowerBound]
            if let token = head.firstRange(of: "Authorization: Bearer token-") {
                self.came(UInt64(head[token.upperBound...]) ?? 0)
            }
            self.text = String(self.text[end.upperBound...])
            self.count += 1
            self.answer(context)
        }
    }

    /// Sends a response in two pieces. The second piece of every third response comes late, so that some response is
    /// always in progress.
    private func answer(_ context: ChannelHandlerContext) {
        let first = ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
        let second = ByteBuffer(string: "k")
        context.writeAndFlush(self.wrapOutboundOut(first), promise: nil)
        guard self.count.isMultiple(of: 3) else {
            return context.writeAndFlush(self.wrapOutboundOut(second), promise: nil)
        }
        let channel = context.channel
        context.eventLoop.scheduleTask(in: .milliseconds(2)) { channel.writeAndFlush(second, promise: nil) }
    }
}
