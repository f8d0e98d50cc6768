import MockServers
import NIOCore
import NIOPosix
import NIOSSL

/// A raw connection to a mock server that sends and receives bytes.
struct Wire {
    private let inbound: Inbound
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private let channel: any Channel

    /// The bytes that have arrived and are not consumed yet.
    private(set) var pending: [UInt8] = []

    /// Opens a connection while `body` runs. With `roots`, the connection uses TLS.
    static func open<Outcome>(
        _ address: ListeningAddress,
        trusting roots: [NIOSSLCertificate]? = nil,
        _ body: (inout Wire) async throws -> Outcome
    ) async throws -> Outcome {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .connect(host: address.host, port: address.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let roots {
                        var configuration = TLSConfiguration.makeClientConfiguration()
                        configuration.trustRoots = .certificates(roots)
                        let handler = try NIOSSLClientHandler(
                            context: NIOSSLContext(configuration: configuration),
                            serverHostname: nil
                        )
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                    return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel,
                        configuration: .init(isOutboundHalfClosureEnabled: true)
                    )
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            var wire = Wire(inbound: Inbound(inbound.makeAsyncIterator()), outbound: outbound, channel: channel.channel)
            return try await body(&wire)
        }
    }

    func send(_ text: String) async throws {
        try await self.outbound.write(ByteBuffer(string: text))
    }

    func send(_ bytes: ByteBuffer) async throws {
        try await self.outbound.write(bytes)
    }

    /// Closes the sending side.
    func finish() async throws {
        try await self.channel.close(mode: .output)
    }

    /// The reading end.
    ///
    /// `@unchecked Sendable`: only the task that runs the body of `open` uses a `Wire`. That task awaits each call of
    /// `next` before the following one.
    private final class Inbound: @unchecked Sendable {
        private var iterator: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator

        init(_ iterator: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator) {
            self.iterator = iterator
        }

        /// The next bytes, or nil at the end of the connection, even after a reset.
        @concurrent func next() async -> ByteBuffer? { try? await self.iterator.next() }
    }

    /// Closes the connection.
    func close() async throws {
        try await self.channel.close()
    }

    /// Waits for more bytes. Returns false at the end of the connection, even after a reset.
    mutating func readMore() async -> Bool {
        guard let bytes = await self.inbound.next() else { return false }
        self.pending += bytes.readableBytesView
        return true
    }

    /// All bytes up to the end of the connection.
    mutating func readToEnd() async -> [UInt8] {
        while await self.readMore() {}
        return self.pending
    }

    /// The next response, or nil if the connection ends before the response is complete.
    mutating func response(headRequest: Bool = false) async -> WireResponse? {
        while true {
            if let (response, used) = WireResponse.parse(self.pending, headRequest: headRequest) {
                self.pending.removeFirst(used)
                return response
            }
            guard await self.readMore() else { return nil }
        }
    }
}
