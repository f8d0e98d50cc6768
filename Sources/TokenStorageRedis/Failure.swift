internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import TokenStorage

#if canImport(Glibc)
    internal import Glibc
#endif

/// Why a command or a connection has failed.
struct SessionError: Error {
    /// What an operator can do about it.
    enum Meaning: Equatable, Sendable {
        /// Nothing: it passes by itself.
        case outage
        /// This server is not, or no longer, the one to write to.
        case notPrimary
        /// The server knows no such user or password.
        case login
        /// The user lacks a right.
        case rights
        /// The server has no memory or disk left for writes.
        case full
        /// The server's settings lose records.
        case settings
        /// The certificate is not trusted, or there is none.
        case untrusted
        /// There is something else at Martlet's keys, or nothing where something must be.
        case records
    }

    /// For the operator. One line, without arguments of commands.
    let message: String
    let meaning: Meaning
    /// No response came in time.
    let isLate: Bool
    /// Where the server says that it keeps the key instead (Redis Cluster specification, "MOVED redirection").
    let movedTo: RedisServer.Host?

    init(_ message: String, _ meaning: Meaning = .outage, isLate: Bool = false, movedTo: RedisServer.Host? = nil) {
        self.message = message.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        self.meaning = meaning
        self.isLate = isLate
        self.movedTo = movedTo
    }

    static let late = SessionError("no response in time", isLate: true)
    static let closed = SessionError("the connection was closed")
    static let anotherPrimary = SessionError("another server has become the primary", .notPrimary)

    /// What a server said instead of a result, from `host`.
    init(_ failure: RESPFailure, from host: RedisServer.Host) {
        // A server repeats the arguments of a command that it does not know.
        let text = failure.message.firstRange(of: ", with args").map { failure.message[..<$0.lowerBound] }
        // For an error in a script it also says where that is.
        let sentence = text ?? failure.message.prefix { $0 != "\n" }
        let end = sentence.firstRange(of: " script: ")?.lowerBound ?? sentence.endIndex
        let message = String(sentence[..<end].prefix(300))
        switch failure.code {
        case "MOVED": self.init("the key is on another node", .notPrimary, movedTo: Self.host(in: failure, from: host))
        case "READONLY", "MASTERDOWN", "NOREPLICAS", "CLUSTERDOWN": self.init(message, .notPrimary)
        case "WRONGPASS", "NOAUTH": self.init(message, .login)
        case "NOPERM": self.init(message, .rights)
        case "ERR" where message.contains("The user executing the script"): self.init(message, .rights)
        case "OOM", "MISCONF": self.init(message, .full)
        case "WRONGTYPE": self.init(message, .records)
        default: self.init(message)
        }
    }

    /// The host in `MOVED slot host:port`. A node that does not know its own name leaves it out.
    private static func host(in failure: RESPFailure, from host: RedisServer.Host) -> RedisServer.Host? {
        guard let target = failure.message.split(separator: " ").last, let colon = target.lastIndex(of: ":"),
            let port = Int(target[target.index(after: colon)...])
        else { return nil }
        let name = target[..<colon]
        return RedisServer.Host(name: name.isEmpty ? host.name : String(name), port: port)
    }

    /// Translates an error of a connection that NIO reports.
    init(connection error: any Error) {
        switch error {
        case let error as SessionError:
            self = error
        case let error as NIOConnectionError:
            if let reason = error.connectionErrors.last?.error {
                self.init(connection: reason)
            } else {
                self.init("the name \(error.host) can't be resolved")
            }
        case let error as IOError:
            self.init(unsafe String(cString: strerror(error.errnoCode)))
        case ChannelError.connectTimeout: self = .late
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            self.init("the server's certificate is for another host", .untrusted)
        case is NIOSSLExtraError:
            self.init("the server's name can't be verified", .untrusted)
        case NIOSSLError.handshakeFailed where "\(error)".contains("CERTIFICATE"):
            self.init("the server's certificate is not trusted or has expired", .untrusted)
        case NIOSSLError.handshakeFailed where "\(error)".contains("WRONG_VERSION_NUMBER"):
            self.init("the server does not encrypt on this port", .untrusted)
        case is NIOSSLError, is BoringSSLError:
            self.init("the TLS handshake failed")
        case let error as RESPError:
            self.init("the server does not speak RESP3: \(error.message)")
        default:
            self = .closed
        }
    }
}

extension StoreError {
    /// Translates a failure. The message has no argument of a command.
    init(_ error: SessionError, isWrite: Bool, store: String) {
        let (code, advice): (Code, String) =
            switch error.meaning {
            case .records: (.unreadable, "")
            case .full: (isWrite ? .unwritable : .unreachable, "; free memory or disk of the server, or look at it")
            case .rights: (isWrite ? .unwritable : .unreachable, Self.missingRights)
            default: (.unreachable, "")
            }
        self.init(code, "\(store): \(error.message)\(advice)")
    }

    /// Translates a failure to open. Here a refusal that does not pass by itself is told apart from an outage.
    init(opening error: SessionError) {
        let (code, advice): (Code, String) =
            switch error.meaning {
            case .outage, .notPrimary: (.unreachable, "")
            case .login: (.unwritable, "; correct the user in store.url, or store.password")
            case .rights: (.unwritable, Self.missingRights)
            case .full: (.unwritable, "; free memory or disk of the server, or look at it")
            case .settings: (.unwritable, "")
            case .untrusted:
                (.unwritable, "; see store.ca and store.url, where rediss:// is encrypted and redis:// is not")
            case .records: (.unreadable, "")
            }
        self.init(code, "can't open: \(error.message)\(advice)")
    }

    private static let missingRights = "; give the user the rights that Martlet's documentation lists, with ACL SETUSER"
}
