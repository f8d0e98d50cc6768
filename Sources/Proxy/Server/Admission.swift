import HTTPWire
package import Listening
package import NIOCore
import Synchronization
import Telemetry
import TokenModel

#if canImport(Glibc)
    import Glibc
#endif

/// What becomes of the connections that callers make.
package enum Admission {
    /// Why a connection is closed without a word.
    struct Refused: Error {}

    /// How long a listener that could not accept lets connections wait in the system's queue; `nil` where waiting helps
    /// nobody, as with a connection that was gone before it was accepted.
    package static func pause(after error: IOError) -> TimeAmount? {
        [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) ? .milliseconds(250) : nil
    }

    /// Keeps a listener from asking again and again while the system has no descriptor or no memory for a connection. It
    /// goes on by itself: whether there is something again, only another try can tell.
    @Sendable static func pausesWhenExhausted(_ listener: any Channel) -> EventLoopFuture<Void> {
        listener.eventLoop.makeCompletedFuture {
            try listener.pipeline.syncOperations.addHandler(
                AcceptBackoffHandler(shouldForwardIOErrorCaught: false, backoffProvider: Self.pause(after:))
            )
        }
    }
}

extension GatewayLoop {
    /// Lets a connection in that was accepted, or turns it away where it is one too many.
    ///
    /// It is answered rather than left in the system's queue: who waits there learns nothing, and can't be told from one
    /// whose packets are lost. Where even that costs too much (a TLS handshake; more than a few at once), it is closed.
    ///
    /// - Parameter open: builds the pipeline of one that is let in.
    func admit(_ channel: any Channel, speaksTLS: Bool, _ open: @escaping () throws -> Void) throws {
        let limits = self.limits
        try channel.syncOptions?.setOption(.recvAllocator, value: self.readBuffers)
        guard limits.connections.enter() else { return try self.turnAway(channel, speaksTLS: speaksTLS) }
        channel.closeFuture.whenComplete { _ in limits.connections.leave() }
        guard limits.addresses.isSet else { return try open() }
        let gate = AddressGate(limits.addresses, open: open) { try self.turnAway(channel, speaksTLS: speaksTLS) }
        try channel.pipeline.syncOperations.addHandler(gate)
    }

    private func turnAway(_ channel: any Channel, speaksTLS: Bool) throws {
        let places = self.limits.turnedAway
        guard !speaksTLS, places.enter() else {
            self.countTurnedAway(status: 0)
            throw Admission.Refused()
        }
        channel.closeFuture.whenComplete { _ in places.leave() }
        try channel.pipeline.syncOperations.addHandler(OverloadResponder(loop: self))
    }

    /// Counts it as a request, and has it in the access log: nowhere else would anyone see it.
    func countTurnedAway(status: Int) {
        var record = RequestRecord(method: HTTPMethod.other.name, startedAt: .now)
        record.status = status
        record.error = GatewayError.Code.overloaded.rawValue
        record.reason = OverloadResponder.error.message
        record.isWhole = status != 0
        self.meter.ended(record, at: .now)
    }
}

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

/// How many connections one address may have, over all event loops.
package final class AddressLimit: Sendable {
    private let most: Atomic<Int>
    private let counts = Mutex<[PeerNetwork: Int]>([:])

    /// - Parameter limit: 0 for any number.
    package init(_ limit: Int) {
        self.most = Atomic(limit)
    }

    /// How many; 0 for any number. What came while there was no limit is not counted.
    package var limit: Int {
        get { self.most.load(ordering: .relaxed) }
        set { self.most.store(newValue, ordering: .relaxed) }
    }

    /// There is a limit at all.
    package var isSet: Bool { self.limit > 0 }

    /// Addresses that have connections now.
    package var count: Int { self.counts.withLock(\.count) }

    /// Takes a place of an address, if it has one left.
    package func enter(_ address: PeerNetwork) -> Bool {
        let limit = self.limit
        return self.counts.withLock { counts in
            let count = counts[address] ?? 0
            guard count < limit || limit == 0 else { return false }
            counts[address] = count + 1
            return true
        }
    }

    /// Gives a place back.
    package func leave(_ address: PeerNetwork) {
        self.counts.withLock { counts in
            // Else each address that ever came would be remembered.
            counts[address] = counts[address].flatMap { $0 > 1 ? $0 - 1 : nil }
        }
    }
}
