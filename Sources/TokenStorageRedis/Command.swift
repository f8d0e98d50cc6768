internal import NIOCore
internal import TokenModel

/// A command with its arguments, as the server gets it: an array of texts.
struct Command: Sendable {
    private enum Argument: Sendable {
        case bytes([UInt8])
        case secret(Secret)

        var count: Int {
            switch self {
            case .bytes(let bytes): bytes.count
            case .secret(let secret): secret.count
            }
        }
    }

    private var arguments: [Argument]

    init(_ words: String...) { self.arguments = words.map { .bytes(Array($0.utf8)) } }

    init(_ words: [String], _ arguments: [[UInt8]]) {
        self.arguments = words.map { .bytes(Array($0.utf8)) } + arguments.map { .bytes($0) }
    }

    /// Begins a session: RESP3, the login, and a name for `CLIENT LIST`.
    static func hello(user: String?, password: Secret?) -> Command {
        var command = Command("HELLO", "3")
        if user != nil || password != nil {
            // A user may have no password (`nopass`), and is not the default user then.
            command.arguments += [
                .bytes(Array("AUTH".utf8)), .bytes(Array((user ?? "default").utf8)), .secret(password ?? Secret("")),
            ]
        }
        command.arguments += ["SETNAME", "martlet"].map { .bytes(Array($0.utf8)) }
        return command
    }

    /// Waits until one replica has what this connection wrote, or until the time is over (Redis, `WAIT`).
    static let wait = Command("WAIT", "1", "1500")
    /// The sections that ``ServerInfo`` reads.
    static let info = Command("INFO", "server", "replication", "memory", "persistence", "cluster")

    /// Appends the command to what is sent.
    func encode(into buffer: inout ByteBuffer) {
        buffer.writeString("*\(self.arguments.count)\r\n")
        for argument in self.arguments {
            buffer.writeString("$\(argument.count)\r\n")
            switch argument {
            case .bytes(let bytes): buffer.writeBytes(bytes)
            case .secret(let secret):
                secret.withUnredacted { span in unsafe span.withUnsafeBytes { unsafe _ = buffer.writeBytes($0) } }
            }
            buffer.writeString("\r\n")
        }
    }
}
