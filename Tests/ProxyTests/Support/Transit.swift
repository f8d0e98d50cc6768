import FoundationEssentials

/// What the kernel has of TCP over IPv4, from `/proc/net/tcp` (proc_net_tcp in the kernel's documentation).
enum Transit {
    struct Socket {
        let ownPort: Int
        let otherPort: Int
        /// Whether the other side has connected, but this side's kernel has not seen its last acknowledgment.
        let isOpening: Bool
        /// Bytes sent that the other side's kernel has not acknowledged. An end (FIN) counts as one.
        let unacknowledged: Int
        /// Bytes received that nobody has read; connections that nobody has accepted.
        let unread: Int
        /// Whether the other side's kernel has everything that there is room for, and the rest waits for its reader.
        let awaitsRoom: Bool

        /// Whether bytes are on their way.
        var isSending: Bool { self.unacknowledged > 0 && !self.awaitsRoom }
    }

    /// All sockets but those of connections that have ended on both sides.
    static func sockets() throws -> [Socket] {
        let table = try String(contentsOfFile: "/proc/net/tcp", encoding: .utf8)
        return table.utf8.split(separator: UInt8(ascii: "\n")).dropFirst().compactMap { line in
            // Most lines may be those of ended connections (TIME_WAIT), and to parse thousands takes long.
            let words = line.split(separator: UInt8(ascii: " "), maxSplits: 4)
            guard words.count > 3, !words[3].elementsEqual("06".utf8) else { return nil }
            // The number of the line; address and port of both sides; the state; both queues; the timer that runs. In
            // hexadecimal.
            let numbers = Substring(line).split { $0 == " " || $0 == ":" }.prefix(9).map { Int($0, radix: 16) ?? 0 }
            return Socket(
                ownPort: numbers[2],
                otherPort: numbers[4],
                isOpening: numbers[5] == 3,
                unacknowledged: numbers[6],
                unread: numbers[7],
                awaitsRoom: numbers[8] == 4
            )
        }
    }
}
