internal import AdminAPI
internal import NIOCore
internal import NIOPosix
internal import TestKit

/// A connection that can send any bytes.
enum RawConnection {
    struct Outcome: Sendable {
        /// Everything that was received.
        var received = ""
        /// The number of bytes that the peer took after the first text, including those in kernel buffers.
        var sent = 0
    }

    /// Sends `first`, then sends `rest` repeatedly as long as the peer takes it, and reads until the connection ends.
    ///
    /// - Parameter rest: the text to repeat; `nil` sends nothing more and keeps the connection open.
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
                    // The peer, which stopped reading, reset the connection.
                }
                outbound.finish()
                outcome.sent = await sent
                return outcome
            }
        }
    }

    /// Sends `text` until the connection ends.
    ///
    /// - Returns: the number of bytes sent.
    private static func send(_ text: String?, on outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>) async -> Int {
        guard let text else { return 0 }
        var count = 0
        while (try? await outbound.write(ByteBuffer(string: text))) != nil { count += text.utf8.count }
        return count
    }
}
