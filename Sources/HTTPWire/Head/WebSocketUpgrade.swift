/// What `Upgrade` says of WebSocket (RFC 6455 §4), the one protocol that connections may go over to here.
enum WebSocketUpgrade {
    /// A request offers it, among others or alone. The others are not passed on.
    static func isOffered(by fields: [Field], in bytes: Span<UInt8>) -> Bool {
        for field in fields where field.known == .upgrade {
            var protocols = ListMembers(of: field.value)
            while let name = protocols.next(in: bytes) {
                if Self.isMeant(by: name, in: bytes) { return true }
            }
        }
        return false
    }

    /// An answer takes it up, and nothing else: one could not tell then what the bytes behind it are.
    static func isTaken(by fields: [Field], in bytes: Span<UInt8>) -> Bool {
        var isTaken = false
        for field in fields where field.known == .upgrade {
            guard !isTaken, Self.isMeant(by: field.value, in: bytes) else { return false }
            isTaken = true
        }
        return isTaken
    }

    private static func isMeant(by name: ByteRange, in bytes: Span<UInt8>) -> Bool {
        bytes.matches(name, "websocket")
    }
}
