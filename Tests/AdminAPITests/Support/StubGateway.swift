internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Synchronization

/// A server in place of a gateway, for commands whose responses a test wants to choose: pages of accounts, and results of
/// imports while the lines are still sent.
final class StubGateway: Sendable {
    /// What becomes of an import.
    struct Course: Sendable {
        /// Lines with this text are refused.
        var refused = "bad"
        /// After this many results nothing more is sent, until ``hangUp()``; `nil` sends all.
        var stallsAfter: Int?
        /// Whether the last line with the sums is sent.
        var isComplete = true
    }

    private struct State {
        var responses: [String: (status: HTTPResponseStatus, body: String)] = [:]
        var course = Course()
        var requests: [String] = []
        var lines: [String] = []
        var contentTypes: [String] = []
        var stalled: (any Channel)?
    }

    private let state = Mutex(State())

    /// Calls `body` with a server that listens on loopback, and stops it afterwards.
    static func run(_ body: (_ gateway: StubGateway, _ base: String) async throws -> Void) async throws {
        let gateway = StubGateway()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    // Pipelining assistance would hold back a response until the request has ended.
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withPipeliningAssistance: false)
                    try channel.pipeline.syncOperations.addHandler(Handler(gateway))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        defer { channel.close(promise: nil) }
        try await body(gateway, "http://127.0.0.1:\(channel.localAddress?.port ?? 0)")
    }

    /// The last line of a response to an import.
    static func sums(imported: Int, refused: Int) -> String {
        #"{"done":true,"imported":\#(imported),"replaced":0,"skipped":0,"refused":\#(refused)}"#
    }

    /// Sets the response to a path with its query.
    func respond(to path: String, _ body: String, _ status: HTTPResponseStatus = .ok) {
        self.state.withLock { $0.responses[path] = (status, body) }
    }

    func setCourse(_ course: Course) { self.state.withLock { $0.course = course } }

    /// Closes the connection of the import that stalls.
    func hangUp() { self.state.withLock { $0.stalled }?.close(promise: nil) }

    /// The methods and paths of all requests.
    var requests: [String] { self.state.withLock { $0.requests } }
    /// The lines of all imports so far.
    var lines: [String] { self.state.withLock { $0.lines } }
    var contentTypes: [String] { self.state.withLock { $0.contentTypes } }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let gateway: StubGateway
        private var isImport = false
        private var isStalled = false
        private var rest = ""
        private var number = 0
        private var refused = 0
        private var response: (status: HTTPResponseStatus, body: String)?

        init(_ gateway: StubGateway) { self.gateway = gateway }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !self.isStalled else { return }
            switch self.unwrapInboundIn(data) {
            case .head(let head): self.begin(head, context)
            case .body(let part): if self.isImport { self.take(String(buffer: part), context) }
            case .end: self.end(context)
            }
        }

        private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
            self.response = self.gateway.state.withLock { state in
                state.requests.append("\(head.method) \(head.uri)")
                state.contentTypes += head.headers["content-type"]
                return state.responses[head.uri]
            }
            self.isImport = head.uri.hasPrefix("/v1/imports") && self.response == nil
            if self.isImport { self.write(head: .ok, context) }
        }

        private func take(_ text: String, _ context: ChannelHandlerContext) {
            let course = self.gateway.state.withLock { $0.course }
            let lines = (self.rest + text).split(separator: "\n", omittingEmptySubsequences: false)
            self.rest = String(lines.last ?? "")
            for line in lines.dropLast() {
                let line = line.drop { $0 == " " }
                self.gateway.state.withLock { $0.lines.append(String(line)) }
                self.number += 1
                let isRefused = line.contains(course.refused)
                self.refused += isRefused ? 1 : 0
                let result =
                    isRefused
                    ? #""refused","reason":"invalid_field","message":"that is no token""# : #""imported""#
                self.isStalled = self.number == course.stallsAfter
                // Whoever sees the last result may hang up at once.
                if self.isStalled { self.gateway.state.withLock { $0.stalled = context.channel } }
                self.write(#"{"line":\#(self.number),"account":"c\#(self.number)","result":\#(result)}"#, context)
                if self.isStalled { return }
            }
        }

        private func end(_ context: ChannelHandlerContext) {
            if self.isImport {
                let imported = self.number - self.refused
                if self.gateway.state.withLock({ $0.course.isComplete }) {
                    self.write(StubGateway.sums(imported: imported, refused: self.refused), context)
                }
            } else {
                let missing = #"{"type":"urn:martlet:error:not_found","detail":"there is no such path"}"#
                let (status, body) = self.response ?? (.notFound, missing)
                self.write(head: status, context)
                self.write(body, context)
            }
            context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        }

        private func write(head status: HTTPResponseStatus, _ context: ChannelHandlerContext) {
            let head = HTTPResponseHead(version: .http1_1, status: status, headers: ["martlet-gateway": "stub"])
            context.writeAndFlush(self.wrapOutboundOut(.head(head)), promise: nil)
        }

        private func write(_ line: String, _ context: ChannelHandlerContext) {
            let part = HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: line + "\n")))
            context.writeAndFlush(self.wrapOutboundOut(part), promise: nil)
        }
    }
}
