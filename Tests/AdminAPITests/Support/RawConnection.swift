internal import AdminAPI
internal import NIOCore
internal import NIOPosix
internal import TestKit

/// A connection on which any bytes can be sent.
enum RawConnection {
    /// Sends `first`, then `rest` over and over as long as the other side takes it, and reads until the connection ends.
    ///
    /// - Parameter rest: `nil` sends nothing more and keeps the connection open.
    /// - Returns: all that came back.
    static func exchange(with address: AdminAddress, sending first: String, then rest: String?) async throws -> String {
        try await within("the connection to end", limit: .seconds(20)) {
            let connection = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connect(host: address.host, port: address.port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    }
                }
            return try await connection.executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(string: first))
                return try await withThrowingTaskGroup(of: Void.self) { tasks in
                    if let rest {
                        tasks.addTask {
                            // Ends with the connection.
                            while (try? await outbound.write(ByteBuffer(string: rest))) != nil {}
                        }
                    }
                    var received = ""
                    do {
                        for try await part in inbound { received += String(buffer: part) }
                    } catch is IOError {
                        // Reset by the peer, which has stopped reading.
                    }
                    tasks.cancelAll()
                    return received
                }
            }
        }
    }
}
