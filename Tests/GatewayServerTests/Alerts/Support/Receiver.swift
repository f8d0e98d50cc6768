import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// An HTTP server on loopback that receives alerts. It records the requests and responds as a test tells it to.
final class Receiver: Sendable {
    /// The behavior for a request.
    enum Manner: Sendable {
        case answer(Int)
        /// Responds with a redirect to this URL.
        case redirect(String)
        /// Never responds.
        case silence
    }

    struct Arrival: Sendable {
        let method: String
        let path: String
        let headers: [String: String]
        let body: [UInt8]
    }

    private struct State {
        var manner = Manner.answer(204)
        var script: [Manner] = []
        var arrivals: [Arrival] = []
    }

    private final class Desk: Sendable {
        let state = Mutex(State())
    }

    private let desk: Desk
    private let channel: any Channel
    let port: Int

    private init(_ desk: Desk, _ channel: any Channel, port: Int) {
        self.desk = desk
        self.channel = channel
        self.port = port
    }

    /// - Parameter port: the port; 0 lets the system choose one.
    static func open(on port: Int = 0) async throws -> Receiver {
        let desk = Desk()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(desk))
                }
            }
            .bind(host: "127.0.0.1", port: port)
            .get()
        return Receiver(desk, channel, port: channel.localAddress?.port ?? 0)
    }

    func close() async {
        try? await self.channel.close()
    }

    var arrivals: [Arrival] { self.desk.state.withLock { $0.arrivals } }

    func behave(_ manner: Manner) { self.desk.state.withLock { $0.manner = manner } }

    /// Sets the behavior for the next requests, one each.
    func behave(next script: Manner...) { self.desk.state.withLock { $0.script += script } }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let desk: Desk
        private var head: HTTPRequestHead?
        private var body: [UInt8] = []

        init(_ desk: Desk) { self.desk = desk }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch self.unwrapInboundIn(data) {
            case .head(let head): (self.head, self.body) = (head, [])
            case .body(let part): self.body += part.readableBytesView
            case .end: self.answer(context)
            }
        }

        private func answer(_ context: ChannelHandlerContext) {
            guard let head = self.head else { return }
            let arrival = Arrival(
                method: head.method.rawValue,
                path: head.uri,
                headers: Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }) { first, _ in first },
                body: self.body
            )
            let manner = self.desk.state.withLock { state in
                state.arrivals.append(arrival)
                return state.script.isEmpty ? state.manner : state.script.removeFirst()
            }
            var headers: HTTPHeaders = ["Content-Length": "0"]
            let status: Int
            switch manner {
            case .silence: return
            case .answer(let code): status = code
            case .redirect(let place):
                status = 307
                headers.add(name: "Location", value: place)
            }
            let answer = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: headers)
            context.write(self.wrapOutboundOut(.head(answer)), promise: nil)
            context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
