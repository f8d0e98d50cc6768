internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// A connection to one server, which runs one group of commands at a time.
///
/// After a thrown error it is closed: a late reply would be taken for that of another command. Otherwise its owner closes
/// it, before the event loop ends.
final class Session: Sendable {
    let host: RedisServer.Host
    private let channel: any Channel
    /// Fails with the reason for which the connection has ended.
    private let ended: EventLoopFuture<Void>

    private init(_ channel: any Channel, to host: RedisServer.Host, ended: EventLoopFuture<Void>) {
        self.channel = channel
        self.host = host
        self.ended = ended
    }

    /// Connects to `host`. TLS is completed, or fails, together with the first group of commands.
    ///
    /// - Parameter pushed: called on the event loop with each message that no command has asked for.
    static func connect(
        to host: RedisServer.Host,
        tls: NIOSSLContext?,
        on group: any EventLoopGroup,
        by deadline: ContinuousClock.Instant,
        pushed: @escaping @Sendable ([RESPValue]) -> Void = { _ in }
    ) async throws(SessionError) -> Session {
        let left = ContinuousClock.now.duration(to: deadline)
        guard left > .zero else { throw .late }
        do {
            return try await ClientBootstrap(group: group)
                .connectTimeout(TimeAmount(left))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        if let tls {
                            let name = host.isAddress ? nil : host.name
                            try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: name))
                        }
                        try pipeline.addHandler(SessionHandler(on: channel.eventLoop, pushed: pushed))
                    }
                }
                .connect(host: host.name, port: host.port)
                .flatMapThrowing { channel in
                    let handler = try channel.pipeline.syncOperations.handler(type: SessionHandler.self)
                    return Session(channel, to: host, ended: handler.ended.futureResult)
                }
                .get()
        } catch {
            throw SessionError(connection: error)
        }
    }

    var isOpen: Bool { self.channel.isActive }

    /// Sends commands at once, and waits for all replies.
    ///
    /// - Throws: ``SessionError`` where a reply is missing. Any of the commands may have been carried out, or be later.
    func run(_ commands: [Command], by deadline: ContinuousClock.Instant) async throws(SessionError) -> [RESPValue] {
        guard !commands.isEmpty else { return [] }
        let promise = self.channel.eventLoop.makePromise(of: [RESPValue].self)
        let group = CommandGroup(commands: commands, deadline: deadline, replies: promise)
        // A channel that was closed before has no handler any more that could tell why.
        self.channel.writeAndFlush(group).whenFailure { _ in self.ended.cascadeFailure(to: promise) }
        do {
            return try await promise.futureResult.get()
        } catch {
            self.channel.close(promise: nil)
            throw SessionError(connection: error)
        }
    }

    /// Returns when the connection is closed.
    func close() async { try? await self.channel.close().get() }

    /// Runs commands of which none may fail.
    func perform(
        _ commands: [Command],
        by deadline: ContinuousClock.Instant
    ) async throws(SessionError) -> [RESPValue] {
        let replies = try await self.run(commands, by: deadline)
        for case .failure(let failure) in replies { throw SessionError(failure, from: self.host) }
        return replies
    }

    /// Calls `body` from time to time, and when the connection ends.
    func ring(each interval: Duration, _ body: @escaping @Sendable () -> Void) {
        let pause = TimeAmount(interval)
        let ringing = self.channel.eventLoop.scheduleRepeatedTask(initialDelay: pause, delay: pause) { _ in body() }
        self.channel.closeFuture.whenComplete { _ in
            ringing.cancel()
            body()
        }
    }
}

/// Commands that are sent together.
private struct CommandGroup: Sendable {
    let commands: [Command]
    let deadline: ContinuousClock.Instant
    let replies: EventLoopPromise<[RESPValue]>
}

/// Encodes groups of commands, and assigns what arrives to them. It belongs to the event loop.
private final class SessionHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = CommandGroup
    typealias OutboundOut = ByteBuffer

    let ended: EventLoopPromise<Void>
    private let pushed: @Sendable ([RESPValue]) -> Void
    private var parser = RESPParser()
    private var group: CommandGroup?
    private var replies: [RESPValue] = []
    private var late: Scheduled<Void>?
    /// Why the connection is of no use any more.
    private var failure: (any Error)?

    init(on eventLoop: any EventLoop, pushed: @escaping @Sendable ([RESPValue]) -> Void) {
        self.ended = eventLoop.makePromise()
        self.pushed = pushed
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.fail(with: SessionError.closed, closing: context.channel)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let group = self.unwrapOutboundIn(data)
        if let failure = self.failure {
            group.replies.fail(failure)
            promise?.fail(failure)
            return
        }
        let left = ContinuousClock.now.duration(to: group.deadline)
        self.group = group
        self.replies = []
        let channel = context.channel
        self.late = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(max(left, .zero))) {
            self.fail(with: SessionError.late, closing: channel)
        }
        var buffer = context.channel.allocator.buffer(capacity: 1_024)
        for command in group.commands { command.encode(into: &buffer) }
        context.write(self.wrapOutboundOut(buffer), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.failure == nil else { return }
        self.parser.append(self.unwrapInboundIn(data).readableBytesView)
        do {
            while let value = try self.parser.next() { try self.take(value) }
        } catch {
            self.fail(with: error, closing: context.channel)
        }
    }

    private func take(_ value: RESPValue) throws(RESPError) {
        // The confirmation of `SUBSCRIBE` is a push, and its reply.
        if case .push(let elements) = value, elements.first?.text != "subscribe" { return self.pushed(elements) }
        guard let group = self.group else { throw RESPError("a reply to nothing") }
        self.replies.append(value)
        guard self.replies.count == group.commands.count else { return }
        self.late?.cancel()
        self.group = nil
        group.replies.succeed(self.replies)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.fail(with: error, closing: context.channel)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.fail(with: SessionError.closed, closing: context.channel)
        context.fireChannelInactive()
    }

    private func fail(with error: any Error, closing channel: any Channel) {
        self.failure = self.failure ?? error
        self.ended.fail(error)
        self.late?.cancel()
        let group = self.group
        self.group = nil
        group?.replies.fail(error)
        channel.close(promise: nil)
    }
}
