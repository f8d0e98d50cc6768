internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes
internal import NIOHTTPTypesHTTP1

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
