import Listening
import NIOCore

/// Stands where a caller's pipeline will be until it is known where the connection comes from: then either that is built,
/// or the caller is turned away because its address has its share.
///
/// Only where there is such a limit; else nobody asks.
final class AddressGate: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let limit: AddressLimit
    private let open: () throws -> Void
    private let turnAway: () throws -> Void

    init(_ limit: AddressLimit, open: @escaping () throws -> Void, turnAway: @escaping () throws -> Void) {
        self.limit = limit
        self.open = open
        self.turnAway = turnAway
    }

    func channelActive(context: ChannelHandlerContext) {
        do {
            if self.enter(context.channel) { try self.open() } else { try self.turnAway() }
            context.fireChannelActive()
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }

    private func enter(_ channel: any Channel) -> Bool {
        guard let address = channel.remoteAddress.flatMap({ PeerNetwork($0) }) else { return true }
        guard self.limit.enter(address) else { return false }
        let limit = self.limit
        channel.closeFuture.whenComplete { _ in limit.leave(address) }
        return true
    }
}
