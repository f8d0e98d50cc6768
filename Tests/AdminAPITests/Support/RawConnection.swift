internal import AdminAPI
internal import NIOCore
internal import NIOPosix
internal import TestKit

/// A connection on which any bytes can be sent.
enum RawConnection {
    struct Outcome: Sendable {
        /// All that came back.
        var received = ""
        /// How much the other side took of what followed the first bytes, the system's buffers included.
        var sent = 0
    }

    /// Sends `first`, then `rest` over and over as long as the other side takes it, and reads until the connection ends.
    ///
    /// - Parameter rest: `nil` sends nothing more and keeps the connection open.
    static func exchange(with address: AdminAddress, sending first: String, then rest: String?) async throws -> Outcome
    {
        try await within("the connection to end", limit: .seconds(20)) {
            let connection = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connect(host: address.host, port: address.port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    }
                }
            return try await connection.executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(string: first))
                async let sent = Self.send(rest, on: outbound)
                var outcome = Outcome()
                do {
                    for try await part in inbound { outcome.received += String(buffer: part) }
                } catch is IOError {
                    // Reset by the peer, which has stopped reading.
                }
                outbound.finish()
                outcome.sent = await sent
                return outcome
            }
        }
    }

    /// Ends with the connection.
    private static func send(_ text: String?, on outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>) async -> Int {
        guard let text else { return 0 }
        var count = 0
        while (try? await outbound.write(ByteBuffer(string: text))) != nil { count += text.utf8.count }
        return count
    }
}
