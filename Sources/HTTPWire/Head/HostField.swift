/// The grammar of `Host` and of a target's authority: `uri-host [ ":" port ]` (RFC 9110 §7.2), without userinfo.
enum HostField {
    static func check(_ host: ByteRange, in bytes: Span<UInt8>) throws(WireError) {
        guard !host.isEmpty else { throw .bad("an empty host") }
        var position = host.lower
        if bytes[position] == 0x5B {
            position += 1
            while position < host.upper,
                bytes[position].hexValue != nil || bytes[position] == .colon || bytes[position] == .dot
            {
                position += 1
            }
            guard position < host.upper, bytes[position] == 0x5D, position - host.lower > 2 else {
                throw .bad("a malformed IPv6 host")
            }
            position += 1
        } else {
            while position < host.upper, bytes[position].isHostName { position += 1 }
            guard position > host.lower else { throw .bad("a host without a name") }
        }
        guard position < host.upper else { return }
        guard bytes[position] == .colon else { throw .bad("a character that no host has") }
        var port = 0
        let portStart = position + 1
        for index in portStart..<host.upper {
            guard bytes[index].isDigit else { throw .bad("a port that is not a number") }
            port = port * 10 + Int(bytes[index] & 0x0F)
            guard port <= 65_535 else { throw .bad("a port above 65535") }
        }
        guard portStart < host.upper else { throw .bad("an empty port") }
    }

    /// The name without its port.
    package static func name(of host: ByteRange, in bytes: Span<UInt8>) -> ByteRange {
        var position = host.upper
        while position > host.lower, bytes[position - 1].isDigit { position -= 1 }
        guard position > host.lower, bytes[position - 1] == .colon, position < host.upper else { return host }
        // `[::1]` ends with a bracket, so a digit run at the end is a port there too.
        return ByteRange(host.lower, position - 1)
    }
}
