import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import TestKit
import Testing

/// A server on loopback that sends scripted bytes on each connection, HTTP or not.
final class ScriptedServer: Sendable {
    /// The request that arrived on one connection.
    struct Request: Sendable {
        var head = ""
        var body = ""
        /// Whether the announced body arrived in full.
        var isWhole = false

        var path: String { self.head.split(separator: " ").dropFirst().first.map(String.init) ?? "" }
    }

    /// What a connection does once its request is complete.
    enum Answer: Sendable, CustomTestStringConvertible {
        /// Writes and closes.
        case bytes(String)
        /// Writes and waits for the other side to close.
        case open(String)
        /// Writes `start`, then `piece` again and again.
        case endless(String, piece: String)
        /// Writes `start` at once and the rest byte by byte.
        case slow(String, rest: String, every: TimeAmount)
        /// Writes after a delay, and closes.
        case late(String, after: TimeAmount)
        case close
        /// Writes, and closes the TCP connection without a TLS close alert.
        case torn(String)

        var testDescription: String {
            switch self {
            case .bytes(let text): "writes \(text.prefix(40))"
            case .open(let text): "writes \(text.prefix(40)) and waits"
            case .endless(let start, let piece): "writes \(start), then \(piece.prefix(8)) again and again"
            case .slow(let start, _, let every): "writes \(start), then a byte every \(every)"
            case .late(let text, let time): "writes \(text.prefix(40)) after \(time)"
            case .close: "closes"
            case .torn(let text): "writes \(text.prefix(40)) and tears the connection"
            }
        }
    }

    private struct Observed {
        var requests: [Request] = []
        var accepted = 0
        var closed = 0
    }

    private let observed = Mutex(Observed())
    private let response: @Sendable (Request) -> Answer
    private let closesOnAccept: Bool
    private let tls: NIOSSLContext?
    private let channel = Mutex<(any Channel)?>(nil)

    /// - Parameters:
    ///   - certificate: the certificate of the server, which then speaks TLS.
    ///   - clientAuthority: the authority of client certificates, which every client must then show.
    ///   - closesOnAccept: closes each connection before reading anything.
    init(
        certificate: String? = nil,
        clientAuthority: String? = nil,
        closesOnAccept: Bool = false,
        answer: @escaping @Sendable (Request) -> Answer
    ) async throws {
        self.tls = try certificate.map { certificate in
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: [
                    .certificate(try NIOSSLCertificate(bytes: Array(certificate.utf8), format: .pem))
                ],
                privateKey: .privateKey(
                    try NIOSSLPrivateKey(bytes: Array(TestCertificates.serverKey.utf8), format: .pem)
                )
            )
            if let clientAuthority {
                configuration.trustRoots = .certificates([
                    try NIOSSLCertificate(bytes: Array(clientAuthority.utf8), format: .pem)
                ])
                configuration.certificateVerification = .noHostnameVerification
            }
            return try NIOSSLContext(configuration: configuration)
        }
        self.closesOnAccept = closesOnAccept
        self.response = answer
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Floor())
                    if let tls = self.tls {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
                    }
                    try channel.pipeline.syncOperations.addHandler(Connection(self))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        self.channel.withLock { $0 = channel }
    }

    var port: Int { self.channel.withLock { $0?.localAddress?.port } ?? 0 }
    var origin: String { "\(self.tls == nil ? "http" : "https")://127.0.0.1:\(self.port)" }
    var requests: [Request] { self.observed.withLock { $0.requests } }
    var acceptedConnections: Int { self.observed.withLock { $0.accepted } }
    var closedConnections: Int { self.observed.withLock { $0.closed } }

    func stop() async { try? await self.channel.withLock { $0 }?.close() }

    /// A loopback port on which nobody listens.
    ///
    /// No system assigns this port to a process that asks for a free one. A port that a test has just released may
    /// already be in use again.
    static let refusingPort = 1
}

extension ScriptedServer {
    /// The handler next to the socket. Closing the channel from here bypasses TLS and closes the socket.
    private final class Floor: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
    }

    private final class Connection: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let server: ScriptedServer
        private var received = ""
        private var hasAnswered = false

        init(_ server: ScriptedServer) { self.server = server }

        func channelActive(context: ChannelHandlerContext) {
            self.server.observed.withLock { $0.accepted += 1 }
            if self.server.closesOnAccept { context.close(promise: nil) }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.received += String(buffer: self.unwrapInboundIn(data))
            let request = self.request()
            guard request.isWhole, !self.hasAnswered else { return }
            self.hasAnswered = true
            self.server.observed.withLock { $0.requests.append(request) }
            self.perform(self.server.response(request), on: context.channel)
        }

        func channelInactive(context: ChannelHandlerContext) {
            let request = self.request()
            self.server.observed.withLock { observed in
                observed.closed += 1
                // An incomplete request is recorded too.
                if !self.hasAnswered, !self.received.isEmpty { observed.requests.append(request) }
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private func request() -> Request {
            guard let end = self.received.firstRange(of: "\r\n\r\n") else { return Request(head: self.received) }
            let head = String(self.received[..<end.lowerBound])
            let body = String(self.received[end.upperBound...])
            let length = head.lowercased().split(separator: "\r\n")
                .first { $0.hasPrefix("content-length:") }
                .flatMap { Int($0.dropFirst("content-length:".count).drop { $0 == " " }) }
            return Request(head: head, body: body, isWhole: body.utf8.count >= length ?? 0)
        }

        private func perform(_ answer: Answer, on channel: any Channel) {
            switch answer {
            case .bytes(let bytes):
                Self.write(bytes, to: channel).whenComplete { _ in channel.close(promise: nil) }
            case .open(let bytes):
                _ = Self.write(bytes, to: channel)
            case .endless(let start, let piece):
                _ = Self.write(start, to: channel)
                Self.writeForEver(piece, to: channel)
            case .slow(let start, let rest, let delay):
                _ = Self.write(start, to: channel)
                Self.drip(rest[...], to: channel, every: delay)
            case .late(let bytes, let delay):
                channel.eventLoop.scheduleTask(in: delay) {
                    Self.write(bytes, to: channel).whenComplete { _ in channel.close(promise: nil) }
                }
            case .close:
                channel.close(promise: nil)
            case .torn(let bytes):
                Self.write(bytes, to: channel).assumeIsolated().whenComplete { _ in
                    try? channel.pipeline.syncOperations.context(handlerType: Floor.self).close(promise: nil)
                }
            }
        }

        private static func write(_ text: String, to channel: any Channel) -> EventLoopFuture<Void> {
            channel.writeAndFlush(ByteBuffer(string: text))
        }

        private static func writeForEver(_ piece: String, to channel: any Channel) {
            Self.write(piece, to: channel).whenSuccess {
                // Other tests use this event loop too.
                channel.eventLoop.scheduleTask(in: .milliseconds(1)) { Self.writeForEver(piece, to: channel) }
            }
        }

        private static func drip(_ rest: Substring, to channel: any Channel, every delay: TimeAmount) {
            guard let next = rest.first else { return }
            channel.eventLoop.scheduleTask(in: delay) {
                Self.write(String(next), to: channel).whenSuccess {
                    Self.drip(rest.dropFirst(), to: channel, every: delay)
                }
            }
        }
    }
}
