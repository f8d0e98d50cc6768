internal import HTTPTypes
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes
internal import NIOHTTPTypesHTTP1
internal import Synchronization

/// One accepted connection, as the endpoints need it: the request heads as received, whether the peer is still
/// connected, and a way to hang up.
final class WireConnection: Sendable {
    private struct State {
        /// Heads of requests that were read but not yet processed. A client may send several requests ahead
        /// (pipelining).
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

    /// Stores a head that has been read.
    func headWasRead(_ head: ReceivedHead) {
        self.state.withLock { $0.heads.append(head) }
    }

    /// Removes and returns the head of the next request. Throws if there is none, which would be a bug in this module.
    func nextHead() throws(WireFault) -> ReceivedHead {
        let head = self.state.withLock { state in
            state.sentContinue = false
            return state.heads.isEmpty ? nil : state.heads.removeFirst()
        }
        guard let head else { throw .noHead }
        return head
    }

    /// Records that the peer has sent its last byte or that the connection is closed.
    func peerLeft() {
        let action = self.state.withLock { state in
            state.peerIsGone = true
            return state.whenPeerLeaves.take()
        }
        action?()
    }

    /// Runs `action` once when the peer leaves, or immediately if it already has. Nil removes an earlier action.
    func whenPeerLeaves(_ action: (@Sendable () -> Void)?) {
        let isGone = self.state.withLock { state in
            state.whenPeerLeaves = state.peerIsGone ? nil : action
            return state.peerIsGone
        }
        if isGone { action?() }
    }

    /// Sends `100 Continue` to a client that holds its body back (RFC 9110 section 15.2.1).
    func sendContinue() async throws {
        self.state.withLock { $0.sentContinue = true }
        try await self.channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue))).get()
    }

    /// Whether `100 Continue` was sent for the current request.
    var didSendContinue: Bool { self.state.withLock { $0.sentContinue } }

    /// Returns when everything written so far has been passed to the operating system.
    func flush() async throws {
        try await self.channel.writeAndFlush(HTTPResponsePart.body(ByteBuffer())).get()
    }

    /// Closes the socket immediately, without a TLS close notification and without flushing.
    func hangUp() {
        self.channel.triggerUserOutboundEvent(HangUp(), promise: nil)
    }
}

/// Why a connection is not served further. The error is not reported: the connection closes.
enum WireFault: Error {
    /// A request was to be processed, but no head had been read.
    case noHead

    /// The mock closed the connection on purpose.
    case hungUp
}

/// Records each head as the parser saw it, with the time. The codec after this handler drops `Host` and renames
/// fields.
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
            // The server code above checks for exactly this field, and not for HTTP/1.0 or other spellings.
            head.headers.replaceOrAdd(name: "Connection", value: "close")
        }
        context.fireChannelRead(self.wrapInboundOut(.head(head)))
    }
}

/// The first handler after the socket: closes it on a ``HangUp`` event and reports when the peer leaves.
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

/// An outbound event that closes the socket without involving the handlers in between. TLS would first send its close
/// notification and wait for the peer's.
struct HangUp: Sendable {}

/// An HTTP/1.1 connection that records the request heads as received and can be cut at the socket. The framework's
/// parser and request loop do the rest.
struct MockChannel: ServerChildChannel {
    let service: MockService

    /// The result of setting up a connection.
    struct Value: ServerChildChannelValue {
        let http: NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>
        let connection: WireConnection
        var channel: any Channel { self.http.channel }
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let connection = WireConnection(channel: channel)
            let pipeline = channel.pipeline.syncOperations
            // The gate comes first, even before TLS.
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
            // Cancellation means that the mock stops. It does not wait for streams to end.
            value.connection.hangUp()
        }
    }
}
