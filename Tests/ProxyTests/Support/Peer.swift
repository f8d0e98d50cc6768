import NIOCore
import NIOPosix
import NIOSSL
import TestKit

#if canImport(Glibc)
    import Glibc
#endif

/// One end of a TCP connection, played by a test. It reads from the socket only when the test asks for bytes.
final class Peer: Sendable {
    /// How the other side ended.
    enum Ending: Sendable, Equatable {
        /// With a FIN.
        case clean
        /// With an RST.
        case reset
    }

    private let channel: any Channel
    private let inbox: NIOLoopBound<PeerInbox>

    init(_ channel: any Channel) throws {
        self.channel = channel
        self.inbox = NIOLoopBound(
            try channel.pipeline.syncOperations.handler(type: PeerInbox.self),
            eventLoop: channel.eventLoop
        )
    }

    /// The ports of this end and of the other end of a TCP connection.
    var ports: (own: Int, other: Int)? {
        self.channel.localAddress?.port.flatMap { own in
            self.channel.remoteAddress?.port.map { other in (own, other) }
        }
    }

    /// Connects over a Unix socket.
    static func connect(toSocket path: String) async throws -> Peer {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.maxMessagesPerRead, value: 1)
            .connect(unixDomainSocketPath: path) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(PeerInbox(eventLoop: channel.eventLoop))
                    return try Peer(channel)
                }
            }
    }

    /// Connects to a port of this machine.
    ///
    /// - Parameters:
    ///   - receiveBuffer: the size of the kernel's receive buffer in bytes; `nil` leaves it to the kernel.
    ///   - sendBuffer: the size of the kernel's send buffer in bytes; `nil` leaves it to the kernel.
    ///   - isNarrow: whether the socket has the options of ``NarrowSocket``.
    ///   - tls: `nil` connects without TLS.
    static func connect(
        to port: Int,
        receiveBuffer: Int? = nil,
        sendBuffer: Int? = nil,
        isNarrow: Bool = false,
        tls: NIOSSLContext? = nil
    ) async throws -> Peer {
        var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.maxMessagesPerRead, value: 1)
        if let receiveBuffer {
            bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: .init(receiveBuffer))
        }
        if let sendBuffer {
            bootstrap = bootstrap.channelOption(.socketOption(.so_sndbuf), value: .init(sendBuffer))
        }
        if isNarrow {
            for (option, value) in NarrowSocket.options { bootstrap = bootstrap.channelOption(option, value: value) }
        }
        let peer = try await bootstrap.connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                if let tls {
                    let handler = try NIOSSLClientHandler(context: tls, serverHostname: nil)
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
                try channel.pipeline.syncOperations.addHandler(PeerInbox(eventLoop: channel.eventLoop))
                return try Peer(channel)
            }
        }
        // Nobody asks for the bytes of the handshake. Once it has begun, it reads on by itself.
        if tls != nil { peer.channel.read() }
        return peer
    }
}

// MARK: - Sending

extension Peer {
    /// Returns when the kernel has taken `text`.
    func send(_ text: String) async throws {
        try await self.send(ByteBuffer(string: text))
    }

    func send(_ bytes: ByteBuffer) async throws {
        let sent = self.channel.eventLoop.makePromise(of: Void.self)
        self.channel.writeAndFlush(bytes, promise: sent)
        let deadline = self.channel.eventLoop.scheduleTask(in: .init(patience)) {
            self.channel.close(promise: nil)
        }
        defer { deadline.cancel() }
        try await sent.futureResult.get()
    }

    /// Sends `bytes` repeatedly until the kernel has taken nothing for half a second, or `limit` bytes have left. On a busy
    /// machine that may be before the other side stops reading, which makes a test weaker, but fails none.
    ///
    /// - Returns: the number of bytes that the kernel has taken.
    func sendUntilStalled(_ bytes: ByteBuffer, limit: Int) async throws -> Int {
        var sent = 0
        while sent < limit {
            let isTaken = self.channel.eventLoop.makePromise(of: Bool.self)
            self.channel.writeAndFlush(bytes).whenSuccess { isTaken.succeed(true) }
            let pause = self.channel.eventLoop.scheduleTask(in: .milliseconds(500)) { isTaken.succeed(false) }
            defer { pause.cancel() }
            guard try await isTaken.futureResult.get() else { return sent }
            sent += bytes.readableBytes
        }
        return sent
    }

    /// Closes the sending side, and still reads.
    func finish() async throws {
        try await self.channel.close(mode: .output).get()
    }

    func close() {
        self.channel.close(promise: nil)
    }

    /// Closes the sending side of a TLS connection as a cut does: without TLS's close_notify.
    func finishBelowTLS() async throws {
        let channel = self.channel
        try await channel.eventLoop.flatSubmit {
            let done = channel.eventLoop.makePromise(of: Void.self)
            do {
                let tls = try channel.pipeline.syncOperations.context(handlerType: NIOSSLHandler.self)
                tls.close(mode: .output, promise: done)
            } catch {
                done.fail(error)
            }
            return done.futureResult
        }.get()
    }

    /// Ends the connection with an RST.
    func reset() async throws {
        if let socket = self.channel as? any SocketOptionProvider {
            try await socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        try await self.channel.close().get()
    }
}

// MARK: - Receiving

extension Peer {
    /// Waits until `length` returns a number of bytes to take. `length` sees all bytes that have come.
    func take(_ what: String, _ length: @escaping @Sendable (ByteBufferView) -> Int?) async throws -> ByteBuffer {
        let inbox = self.inbox
        return try await self.channel.eventLoop.flatSubmit { inbox.value.take(what, length) }.get().bytes
    }

    func bytes(_ count: Int) async throws -> ByteBuffer {
        try await self.take("\(count) bytes") { $0.count >= count ? count : nil }
    }

    /// Whether the kernel has bytes for this end that the test has not asked for.
    var hasUnread: Bool {
        get async throws {
            let channel = self.channel
            return try await channel.eventLoop.submit {
                let operations = channel.pipeline.syncOperations
                let count = try operations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { socket in
                    var byte: UInt8 = 0
                    return unsafe recv(socket, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT))
                }
                return count.map { $0 > 0 } ?? false
            }.get()
        }
    }

    /// Takes everything up to the next CRLF, and returns it without the CRLF.
    func line() async throws -> String {
        let line = try await self.take("a line") { view in
            view.firstIndex(of: 0x0A).map { $0 - view.startIndex + 1 }
        }
        let text = String(buffer: line)
        guard text.hasSuffix("\r\n") else { throw WrongBytes("a line without CRLF: \(text)") }
        return String(text.dropLast())
    }

    /// Waits for the other side's end, and takes everything that comes before it.
    func rest() async throws -> (bytes: ByteBuffer, ending: Ending) {
        let inbox = self.inbox
        let (bytes, ending) = try await self.channel.eventLoop.flatSubmit { inbox.value.take("end", nil) }.get()
        return (bytes, ending ?? .reset)
    }

    /// Sends `pieces` one by one and takes everything up to the other side's end, in one step. On a busy machine the
    /// other side may otherwise end before the test begins to read.
    func rest(sending pieces: [ByteBuffer]) async throws -> (bytes: ByteBuffer, ending: Ending) {
        let (channel, inbox) = (self.channel, self.inbox)
        let taken = channel.eventLoop.flatSubmit { () -> EventLoopFuture<PeerInbox.Taken> in
            let rest = inbox.value.take("end", nil)
            for piece in pieces { channel.writeAndFlush(piece, promise: nil) }
            return rest
        }
        let (bytes, ending) = try await taken.get()
        return (bytes, ending ?? .reset)
    }

    /// Waits for the other side's end.
    ///
    /// - Throws: ``WrongBytes`` when anything comes before it.
    func ending() async throws -> Ending {
        let (bytes, ending) = try await self.rest()
        guard bytes.readableBytes == 0 else { throw WrongBytes("before the end: \(String(buffer: bytes))") }
        return ending
    }
}

/// The error for received bytes that are not what the protocol requires.
struct WrongBytes: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
