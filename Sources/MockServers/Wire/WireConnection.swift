internal import HTTPTypes
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes
internal import NIOHTTPTypesHTTP1
internal import Synchronization

/// One accepted connection, as those who answer its requests need it: the heads as they came, whether the peer is still
/// there, and the power to hang up.
final class WireConnection: Sendable {
    private struct State {
        /// Heads read and not yet answered; a client may send several ahead.
        var heads: [ReceivedHead] = []
        var sentContinue = false
        var peerIsGone = false
        var whenPeerLeaves: (@Sendable () -> Void)?
    }

    private let channel: any Channel
    private let state = Mutex(State())

    init(channel: any Channel) {
        self.channel = channel
    }

    /// A head has been read.
    func headWasRead(_ head: ReceivedHead) {
        self.state.withLock { $0.heads.append(head) }
    }

    /// The head of the request that is up next. Throws when there is none, which would be an error in this room.
    func nextHead() throws(WireFault) -> ReceivedHead {
        let head = self.state.withLock { state in
            state.sentContinue = false
            return state.heads.isEmpty ? nil : state.heads.removeFirst()
        }
        guard let head else { throw .noHead }
        return head
    }

    /// The peer has sent its last byte or the connection is gone.
    func peerLeft() {
        let action = self.state.withLock { state in
            state.peerIsGone = true
            return state.whenPeerLeaves.take()
        }
        action?()
    }

    /// Runs `action` once, when the peer leaves; at once if it has. Nil takes an earlier one back.
    func whenPeerLeaves(_ action: (@Sendable () -> Void)?) {
        let isGone = self.state.withLock { state in
            state.whenPeerLeaves = state.peerIsGone ? nil : action
            return state.peerIsGone
        }
        if isGone { action?() }
    }

    /// Tells a client that holds its body back to go on (RFC 9110 section 15.2.1).
    func sendContinue() async throws {
        self.state.withLock { $0.sentContinue = true }
        try await self.channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue))).get()
    }

    /// Whether the client of the current request was told to go on.
    var didSendContinue: Bool { self.state.withLock { $0.sentContinue } }

    /// Returns when everything written so far has been handed to the operating system.
    func flush() async throws {
        try await self.channel.writeAndFlush(HTTPResponsePart.body(ByteBuffer())).get()
    }

    /// Closes the socket now, without a goodbye of TLS and without waiting for what was not flushed.
    func hangUp() {
        self.channel.triggerUserOutboundEvent(HangUp(), promise: nil)
    }
}

/// Why a connection is not served further. Nobody is told: the connection closes.
enum WireFault: Error {
    /// A request was up for an answer without a head having been read.
    case noHead

    /// The connection was closed on purpose.
    case hungUp
}

/// Keeps each head as the parser saw it, with the time, before it is translated: the translation drops `Host` and renames.
final class HeadRecorder: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let connection: WireConnection

    init(connection: WireConnection) {
        self.connection = connection
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = self.unwrapInboundIn(data) else {
            return context.fireChannelRead(data)
        }
        let received = ReceivedHead(head, at: .now)
        self.connection.headWasRead(received)
        if received.closes {
            // The server above looks for exactly this, and not for HTTP/1.0 or other spellings.
            head.headers.replaceOrAdd(name: "Connection", value: "close")
        }
        context.fireChannelRead(self.wrapInboundOut(.head(head)))
    }
}

/// Stands between the socket and everything else: hangs up when told, and tells when the peer leaves.
final class SocketGate: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData

    private let connection: WireConnection

    init(connection: WireConnection) {
        self.connection = connection
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.inputClosed) = event as? ChannelEvent {
            self.connection.peerLeft()
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.connection.peerLeft()
        context.fireChannelInactive()
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        if event is HangUp {
            context.close(promise: promise)
        } else {
            context.triggerUserOutboundEvent(event, promise: promise)
        }
    }
}

/// Sent down the pipeline to close the socket without asking the handlers in between. TLS would first say goodbye and wait
/// for the peer to do so too.
struct HangUp: Sendable {}

/// An HTTP/1.1 connection that keeps the heads as received and can be cut at the socket. Otherwise it is served as the
/// framework's own: its parser, its loop over requests.
struct MockChannel: ServerChildChannel {
    let service: MockService

    /// What setting up a connection yields.
    struct Value: ServerChildChannelValue {
        let http: NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>
        let connection: WireConnection
        var channel: any Channel { self.http.channel }
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let connection = WireConnection(channel: channel)
            let pipeline = channel.pipeline.syncOperations
            // First of all, ahead of TLS where there is some.
            try pipeline.addHandler(SocketGate(connection: connection), position: .first)
            try pipeline.configureHTTPServerPipeline(
                withPipeliningAssistance: false,
                withErrorHandling: false,
                withOutboundHeaderValidation: false
            )
            try pipeline.addHandler(HeadRecorder(connection: connection))
            try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
            try pipeline.addHandler(HTTPConnectionStateHandler(logger: logger))
            let http = try NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>(
                wrappingChannelSynchronously: channel,
                configuration: NIOAsyncChannel.Configuration(isOutboundHalfClosureEnabled: true)
            )
            return Value(http: http, connection: connection)
        }
    }

    func handle(value: Value, logger: Logger) async {
        let service = self.service
        let requests = HTTP1Channel(
            responder: { request, writer, _ in
                try await service.respond(to: request, with: writer, on: value.connection)
            }
        )
        await withTaskCancellationHandler {
            await requests.handleHTTP(asyncChannel: value.http, logger: logger)
        } onCancel: {
            // Cancelled means that the mock stops: nobody waits for a stream to end.
            value.connection.hangUp()
        }
    }
}
