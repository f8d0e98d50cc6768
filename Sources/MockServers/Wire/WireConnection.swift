internal import HTTPTypes
internal import NIOCore
internal import NIOHTTPTypes
internal import Synchronization

/// One accepted connection, as those who answer its requests need it: the heads as they came, whether the peer is still
/// there, and the power to hang up.
final class WireConnection: Sendable {
    private struct State {
        /// Heads read and not yet answered; a client may send several ahead.
        var heads: [ReceivedHead] = []
        var sentContinue = false
        var peerIsGone = false
        var whenPeerLeaves: (@Sendable () -> Void)?
    }

    private let channel: any Channel
    private let state = Mutex(State())

    init(channel: any Channel) {
        self.channel = channel
    }

    /// A head has been read.
    func headWasRead(_ head: ReceivedHead) {
        self.state.withLock { $0.heads.append(head) }
    }

    /// The head of the request that is up next. Throws when there is none, which would be an error in this room.
    func nextHead() throws(WireFault) -> ReceivedHead {
        let head = self.state.withLock { state in
            state.sentContinue = false
            return state.heads.isEmpty ? nil : state.heads.removeFirst()
        }
        guard let head else { throw .noHead }
        return head
    }

    /// The peer has sent its last byte or the connection is gone.
    func peerLeft() {
        let action = self.state.withLock { state in
            state.peerIsGone = true
            return state.whenPeerLeaves.take()
        }
        action?()
    }

    /// Runs `action` once, when the peer leaves; at once if it has. Nil takes an earlier one back.
    func whenPeerLeaves(_ action: (@Sendable () -> Void)?) {
        let isGone = self.state.withLock { state in
            state.whenPeerLeaves = state.peerIsGone ? nil : action
            return state.peerIsGone
        }
        if isGone { action?() }
    }

    /// Tells a client that holds its body back to go on (RFC 9110 section 15.2.1).
    func sendContinue() async throws {
        self.state.withLock { $0.sentContinue = true }
        try await self.channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue))).get()
    }

    /// Whether the client of the current request was told to go on.
    var didSendContinue: Bool { self.state.withLock { $0.sentContinue } }

    /// Returns when everything written so far has been handed to the operating system.
    func flush() async throws {
        try await self.channel.writeAndFlush(HTTPResponsePart.body(ByteBuffer())).get()
    }

    /// Closes the socket now, without a goodbye of TLS and without waiting for what was not flushed.
    func hangUp() {
        self.channel.triggerUserOutboundEvent(HangUp(), promise: nil)
    }
}
