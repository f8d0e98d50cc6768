import NIOCore

/// Stands in front of a listener's TLS until the protocols that a caller offers are known. A caller that offers only
/// protocols other than HTTP/1.1 gets an alert (RFC 7301 §3.2). The library would go on without a protocol, and the
/// caller would take what follows for a broken connection.
final class ProtocolGate: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// A fatal alert, `no_application_protocol`, in a record of its own.
    private static let alert = ByteBuffer(bytes: [21, 3, 3, 0, 2, 2, 120])

    private let refused: () -> Void
    private var buffer = ByteBuffer()
    /// With fewer bytes than this, nothing can be decided.
    private var needed = 1
    private var hasRefused = false

    /// - Parameter refused: called once for a caller that gets the alert, before its connection ends.
    init(refused: @escaping () -> Void) {
        self.refused = refused
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.hasRefused else { return }
        self.buffer.writeImmutableBuffer(self.unwrapInboundIn(data))
        guard self.buffer.readableBytes >= self.needed else { return }
        switch ClientHello.offer(in: self.buffer.readableBytesUInt8Span) {
        case .needsMore(let needed): self.needed = needed
        case .nothing, .protocols(includesHTTP11: true):
            context.fireChannelRead(self.wrapInboundOut(self.buffer))
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        case .protocols(includesHTTP11: false):
            self.hasRefused = true
            self.buffer = ByteBuffer()
            self.refused()
            let channel = context.channel
            context.writeAndFlush(self.wrapOutboundOut(Self.alert)).whenComplete { _ in channel.close(promise: nil) }
        }
    }

    /// After an alert the end is hidden from TLS, which would take it for an end in the middle of a handshake and
    /// report it a second time.
    func channelInactive(context: ChannelHandlerContext) {
        if !self.hasRefused { context.fireChannelInactive() }
    }
}

/// The first message of a TLS connection (RFC 8446 §4.1.2), read only for the protocols that the client offers (RFC
/// 7301).
///
/// TLS itself judges the message afterwards: a message that can't be read here offers nothing.
package enum ClientHello {
    /// The protocols that a client offers inside TLS.
    package enum Offer: Equatable, Sendable {
        /// Not known before this many bytes have arrived.
        case needsMore(Int)
        /// The client names no protocol, or the bytes are no such message.
        case nothing
        /// The client names protocols, with or without `http/1.1`.
        case protocols(includesHTTP11: Bool)
    }

    /// A message in more records than this is not put together. Honest clients send one or two, and each attempt starts
    /// again at the message's first byte.
    private static let recordLimit = 8
    /// The most that TLS puts into one record, and the most that this message may take in all its records, in bytes.
    private static let limit = 16 << 10

    /// - Parameter bytes: all that the client has sent.
    package static func offer(in bytes: Span<UInt8>) -> Offer {
        var message: [UInt8] = []
        var position = 0
        for _ in 0..<Self.recordLimit {
            guard position + 5 <= bytes.count else {
                return Self.isRecordBegun(bytes, at: position) ? .needsMore(position + 5) : .nothing
            }
            guard Self.isRecordBegun(bytes, at: position) else { return .nothing }
            let length = Int(bytes[position + 3]) << 8 | Int(bytes[position + 4])
            guard length > 0, length <= Self.limit else { return .nothing }
            let end = position + 5 + length
            guard end <= bytes.count else { return .needsMore(end) }
            for index in position + 5..<end { message.append(bytes[index]) }
            position = end
            guard message.count >= 4 else { continue }
            let needed = 4 + (Int(message[1]) << 16 | Int(message[2]) << 8 | Int(message[3]))
            guard message[0] == 1, needed <= Self.limit else { return .nothing }
            if message.count >= needed { return Self.offer(ofMessage: message[4..<needed]) }
        }
        return .nothing
    }

    /// Whether a handshake record begins here, as far as its bytes have arrived.
    private static func isRecordBegun(_ bytes: Span<UInt8>, at position: Int) -> Bool {
        (position >= bytes.count || bytes[position] == 22) && (position + 1 >= bytes.count || bytes[position + 1] == 3)
    }

    private static func offer(ofMessage message: ArraySlice<UInt8>) -> Offer {
        // Version and random; then session, suites and compressions, each preceded by its length.
        var rest = message.dropFirst(34)
        guard rest.takeVector(1) != nil, rest.takeVector(2) != nil, rest.takeVector(1) != nil,
            var extensions = rest.takeVector(2)
        else { return .nothing }
        while let type = extensions.takeNumber(2), var content = extensions.takeVector(2) {
            guard type == 16 else { continue }
            guard var names = content.takeVector(2), !names.isEmpty else { return .nothing }
            var includesHTTP11 = false
            while !names.isEmpty {
                guard let name = names.takeVector(1) else { return .nothing }
                includesHTTP11 = includesHTTP11 || name.elementsEqual("http/1.1".utf8)
            }
            return .protocols(includesHTTP11: includesHTTP11)
        }
        return .nothing
    }
}

extension ArraySlice<UInt8> {
    /// A big-endian number of `size` bytes.
    fileprivate mutating func takeNumber(_ size: Int) -> Int? {
        guard self.count >= size else { return nil }
        defer { self = self.dropFirst(size) }
        return self.prefix(size).reduce(0) { $0 << 8 | Int($1) }
    }

    /// The bytes that follow their length, which has `size` bytes.
    fileprivate mutating func takeVector(_ size: Int) -> ArraySlice<UInt8>? {
        guard let count = self.takeNumber(size), self.count >= count else { return nil }
        defer { self = self.dropFirst(count) }
        return self.prefix(count)
    }
}
