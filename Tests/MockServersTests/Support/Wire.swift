import MockServers
import NIOCore
import NIOPosix
import NIOSSL

/// A bare connection to a mock: bytes out, bytes in.
struct Wire {
    private let inbound: Inbound
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private let channel: any Channel

    /// What has arrived and not been taken.
    private(set) var pending: [UInt8] = []

    /// Opens a connection for the time of `body`. Trusting a certificate means TLS.
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

    /// Says that no more will be sent.
    func finish() async throws {
        try await self.channel.close(mode: .output)
    }

    /// The reading end.
    ///
    /// `@unchecked Sendable`: a `Wire` is used by the one task that runs the body of `open`, and each call of `next` is
    /// awaited before the following one.
    private final class Inbound: @unchecked Sendable {
        private var iterator: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator

        init(_ iterator: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator) {
            self.iterator = iterator
        }

        /// Nil at the end, whether in peace or by a reset.
        @concurrent func next() async -> ByteBuffer? { try? await self.iterator.next() }
    }

    /// Hangs up.
    func close() async throws {
        try await self.channel.close()
    }

    /// Waits for more bytes; false at the end, whether in peace or by a reset.
    mutating func readMore() async -> Bool {
        guard let bytes = await self.inbound.next() else { return false }
        self.pending += bytes.readableBytesView
        return true
    }

    /// Everything up to the end.
    mutating func readToEnd() async -> [UInt8] {
        while await self.readMore() {}
        return self.pending
    }

    /// The next response; nil when the connection ends before it is whole.
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
