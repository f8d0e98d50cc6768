internal import AdminAPI
internal import NIOCore
internal import NIOPosix
internal import TestKit

/// A connection that can send any bytes.
enum RawConnection {
    /// Sends `first`, then sends `rest` repeatedly as long as the peer takes it, and reads until the connection ends.
    ///
    /// - Parameter rest: the text to repeat; `nil` sends nothing more and keeps the connection open.
    /// - Returns: everything that was received.
    static func exchange(with address: AdminAddress, sending first: String, then rest: String?) async throws -> String {
        try await within("the connection to end") {
            let connection = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connect(host: address.host, port: address.port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    }
                }
            return try await connection.executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(string: first))
                async let sent: Void = Self.send(rest, on: outbound)
                var received = ""
                do {
                    for try await part in inbound { received += String(buffer: part) }
                } catch is IOError {
                    // The peer, which stopped reading, reset the connection.
                }
                outbound.finish()
                await sent
                return received
            }
        }
    }

    /// Sends `text` until the connection ends.
    private static func send(_ text: String?, on outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>) async {
        guard let text else { return }
        while (try? await outbound.write(ByteBuffer(string: text))) != nil {}
    }
}
