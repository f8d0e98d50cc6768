import HTTPWire
package import NIOCore
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
