internal import Synchronization

/// Tells on standard error which gateway has answered: of several on one store each knows its own requests and refreshes.
enum GatewayHerald {
    private static let last = Mutex<String?>(nil)

    /// Remembers who gave an answer to what was asked for.
    static func heard(_ reply: AdminReply, from address: String) {
        guard (200..<300).contains(reply.httpStatus) else { return }
        self.last.withLock { $0 = "answered by \(reply.gateway ?? "the gateway") at \(address)" }
    }

    /// To be called behind the results of a command that has done what it was to do: a failure is one line.
    static func tell() {
        guard let line = self.last.withLock({ $0 }) else { return }
        Console.mention(line)
    }
}
