import HTTPWire
package import NIOCore
import Synchronization
package import SystemSupport
import Telemetry
import TokenModel

#if canImport(Glibc)
    import Glibc
#endif

/// Decides whether callers' connections are accepted.
package enum Admission {
    /// Thrown to close a connection without a reply.
    struct Refused: Error {}

    /// How long a listener pauses after a failed accept, while connections wait in the system's queue. `nil` for an
    /// error that a pause does not help, such as a connection that was gone before it was accepted.
    package static func pause(after error: IOError) -> TimeAmount? {
        [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) ? .milliseconds(250) : nil
    }

    /// Makes a listener pause while the system has no descriptor or no memory for a connection. After the pause the
    /// listener tries again: only another attempt shows whether resources are free.
    @Sendable static func pausesWhenExhausted(_ listener: any Channel) -> EventLoopFuture<Void> {
        listener.eventLoop.makeCompletedFuture {
            try listener.pipeline.syncOperations.addHandler(
                AcceptBackoffHandler(shouldForwardIOErrorCaught: false, backoffProvider: Self.pause(after:))
            )
        }
    }
}

extension GatewayLoop {
    /// Admits an accepted connection, in the place of a stranger's if need be, or turns it away if it exceeds a limit.
    ///
    /// A connection over the limit gets a reply rather than a wait in the system's queue: a caller that waits there
    /// learns nothing, and looks like one whose packets are lost. Where even a reply costs too much (a TLS handshake;
    /// more than a few at once), the connection is closed.
    ///
    /// - Parameter open: builds the pipeline of an admitted connection.
    func admit(_ channel: any Channel, speaksTLS: Bool, _ open: @escaping () throws -> Void) throws {
        let limits = self.limits
        try channel.syncOptions?.setOption(.recvAllocator, value: self.readBuffers)
        switch limits.connections.arrive(channel) {
        case .turnedAway: return try self.turnAway(channel, speaksTLS: speaksTLS)
        case .admittedInPlaceOfAnother: self.countTurnedAway(status: 0, Self.placeIsLost)
        case .admitted: break
        }
        channel.closeFuture.whenComplete { _ in limits.connections.leave(channel) }
        guard limits.addresses.isSet else { return try open() }
        let gate = AddressGate(limits.addresses, open: open) { try self.turnAway(channel, speaksTLS: speaksTLS) }
        try channel.pipeline.syncOperations.addHandler(gate)
    }

    /// Why a stranger's connection ended.
    static let placeIsLost = GatewayError(
        .overloaded,
        "no request had been authenticated when another connection needed the place; see limits.connections"
    )

    private func turnAway(_ channel: any Channel, speaksTLS: Bool) throws {
        let places = self.limits.turnedAway
        guard !speaksTLS, places.enter() else {
            self.countTurnedAway(status: 0)
            throw Admission.Refused()
        }
        channel.closeFuture.whenComplete { _ in places.leave() }
        try channel.pipeline.syncOperations.addHandler(OverloadResponder(loop: self))
    }

    /// Counts the rejected connection as a request and writes it to the access log: nothing else would show it.
    func countTurnedAway(status: Int, _ error: GatewayError = OverloadResponder.error) {
        var record = RequestRecord(method: HTTPMethod.other.name, startedAt: .now)
        record.status = status
        record.error = GatewayError.Code.overloaded.rawValue
        record.reason = error.message
        record.isWhole = status != 0
        self.meter.ended(record, at: .now)
    }
}

/// Holds the place of a caller's pipeline until the connection's remote address is known. Then the pipeline is built,
/// or the caller is turned away because its address has too many connections.
///
/// Added only where there is a limit per address.
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

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ConnectionPlaces.GivesWay { return context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
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

/// Limits the connections of one address.
package typealias AddressLimit = KeyedLimit<PeerNetwork>

/// Limits how many places one holder has, over all event loops.
package final class KeyedLimit<Key: Hashable & Sendable>: Sendable {
    private let most: Atomic<Int>
    private let counts = Mutex<[Key: Int]>([:])

    /// - Parameter limit: 0 for no limit.
    package init(_ limit: Int) {
        self.most = Atomic(limit)
    }

    /// Places of one holder; 0 for no limit. Connections accepted while there was no limit are not counted.
    package var limit: Int {
        get { self.most.load(ordering: .relaxed) }
        set { self.most.store(newValue, ordering: .relaxed) }
    }

    /// Whether there is a limit.
    package var isSet: Bool { self.limit > 0 }

    /// Number of holders that have places now.
    package var count: Int { self.counts.withLock(\.count) }

    /// Takes a place for a holder, if one is left.
    package func enter(_ key: Key) -> Bool {
        let limit = self.limit
        return self.counts.withLock { counts in
            let count = counts[key] ?? 0
            guard count < limit || limit == 0 else { return false }
            counts[key] = count + 1
            return true
        }
    }

    /// Gives back a place of a holder.
    package func leave(_ key: Key) {
        self.counts.withLock { counts in
            // Without this, every holder ever seen would be remembered.
            counts[key] = counts[key].flatMap { $0 > 1 ? $0 - 1 : nil }
        }
    }
}
