internal import HTTPTypes
internal import NIOCore
internal import SignIn
internal import TextCoding
internal import TokenModel
internal import TokenRefresh

/// The resource of the admin API that a request's path names.
enum AdminRoute: Equatable, Sendable {
    case health
    case readiness
    case metrics
    case description
    case status
    case history
    case accounts(AccountQuery)
    case account(AccountID)
    /// The account with its unrevoked tokens. This requires reading all unrevoked tokens of the store.
    case accountWithUnrevoked(AccountID)
    case tokens(AccountID)
    case refresh(AccountID)
    case adoption(AccountID)
    case imports(ExistingAccounts)
    case signIns
    case signIn(SignInID)
    case killing
    case revival
    case kills
    case kill(KillID)
    case killedTokens(KillID, KilledTokensQuery)
    case replicas
    case audit(AuditQuery)
    /// Named by its name, its incarnation, or the beginning of its incarnation.
    case replica(String)
    case caches
    case cachePurge
    case lock
    case unlock
    case approvals

    /// - Parameter path: the path as it was sent, without the query.
    /// - Returns: `nil` for an unknown path.
    init?(path: String) {
        guard path.hasPrefix("/") else { return nil }
        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        switch segments.count {
        case 1 where segments[0] == "healthz": self = .health
        case 1 where segments[0] == "readyz": self = .readiness
        case 1 where segments[0] == "metrics": self = .metrics
        case 1 where segments[0] == "openapi.json": self = .description
        case 2 where segments[0] == "v1" && segments[1] == "status": self = .status
        case 2 where segments[0] == "v1" && segments[1] == "history": self = .history
        case 2 where segments[0] == "v1" && segments[1] == "accounts": self = .accounts(.standard)
        case 2 where segments[0] == "v1" && segments[1] == "imports": self = .imports(.skip)
        case 2 where segments[0] == "v1" && segments[1] == "logins": self = .signIns
        case 2 where segments[0] == "v1" && segments[1] == "kill": self = .killing
        case 2 where segments[0] == "v1" && segments[1] == "revive": self = .revival
        case 2 where segments[0] == "v1" && segments[1] == "kills": self = .kills
        case 2 where segments[0] == "v1" && segments[1] == "replicas": self = .replicas
        case 2 where segments[0] == "v1" && segments[1] == "audit": self = .audit(.standard)
        case 2 where segments[0] == "v1" && segments[1] == "cache": self = .caches
        case 2 where segments[0] == "v1" && segments[1] == "lock": self = .lock
        case 2 where segments[0] == "v1" && segments[1] == "unlock": self = .unlock
        case 2 where segments[0] == "v1" && segments[1] == "approvals": self = .approvals
        case 3 where segments[0] == "v1" && segments[1] == "cache" && segments[2] == "purge": self = .cachePurge
        case 3 where segments[0] == "v1" && segments[1] == "logins":
            guard let id = Self.name(segments[2]) else { return nil }
            self = .signIn(SignInID(id))
        case 3 where segments[0] == "v1" && segments[1] == "replicas":
            guard let name = Self.name(segments[2]) else { return nil }
            self = .replica(name)
        case 3...4 where segments[0] == "v1" && segments[1] == "kills":
            guard let id = Self.name(segments[2]) else { return nil }
            switch segments.dropFirst(3).first {
            case nil: self = .kill(KillID(id))
            case "tokens": self = .killedTokens(KillID(id), .standard)
            default: return nil
            }
        case 3...4 where segments[0] == "v1" && segments[1] == "accounts":
            guard let name = Self.name(segments[2]) else { return nil }
            switch segments.dropFirst(3).first {
            case nil: self = .account(AccountID(name))
            case "tokens": self = .tokens(AccountID(name))
            case "refresh": self = .refresh(AccountID(name))
            case "adopt": self = .adoption(AccountID(name))
            default: return nil
            }
        default: return nil
        }
    }

    /// The methods that the resource allows; `HEAD` is allowed wherever `GET` is.
    var methods: [HTTPRequest.Method] {
        switch self {
        case .health, .readiness, .metrics, .description, .status, .history, .accounts, .account, .accountWithUnrevoked,
            .kills, .kill, .killedTokens, .replicas, .audit, .caches:
            [.get, .head]
        case .tokens: [.put, .delete]
        case .signIn: [.get, .head, .post, .delete]
        case .replica: [.delete]
        case .lock, .approvals: [.get, .head, .post]
        case .refresh, .adoption, .imports, .signIns, .killing, .revival, .cachePurge, .unlock: [.post]
        }
    }

    /// The account that the path names; `nil` if it names none.
    var account: AccountID? {
        switch self {
        case .account(let account), .accountWithUnrevoked(let account), .tokens(let account), .refresh(let account),
            .adoption(let account):
            account
        default: nil
        }
    }

    /// The kind of action that a request with one of these methods is.
    func deed(_ method: HTTPRequest.Method) -> AdminActionKind {
        switch self {
        case .account where method == .get || method == .head: .following
        case .accountWithUnrevoked: .following
        case .signIn where method == .get || method == .head: .following
        case .imports, .signIns, .signIn: .registering
        case .tokens where method == .put: .registering
        case .killing, .cachePurge: .killing
        default: method == .get || method == .head ? .reading : .changing
        }
    }

    /// The same route with the parameters of the request's query.
    func with(_ query: String?) throws(AdminError) -> AdminRoute {
        guard let query else { return self }
        switch self {
        case .audit: return .audit(try AuditQuery(query))
        case .accounts: return .accounts(try AccountQuery(query))
        case .imports: return .imports(try ExistingAccounts(query: query))
        case .killedTokens(let kill, _): return .killedTokens(kill, try KilledTokensQuery(query))
        case .account(let account):
            guard query == "unrevoked=true" else { throw .invalidField("query", "the query is not unrevoked=true") }
            return .accountWithUnrevoked(account)
        default: throw .invalidField("query", "the path takes no query")
        }
    }

    /// The path without the names in it, because somebody may have put a token there.
    var pattern: String { self.template.rawValue }

    private var template: AdminPath {
        switch self {
        case .health: .health
        case .readiness: .readiness
        case .metrics: .metrics
        case .description: .description
        case .status: .status
        case .history: .history
        case .accounts: .accounts
        case .account, .accountWithUnrevoked: .account
        case .tokens: .tokens
        case .refresh: .refresh
        case .adoption: .adoption
        case .imports: .imports
        case .signIns: .signIns
        case .signIn: .signIn
        case .killing: .killing
        case .revival: .revival
        case .kills: .kills
        case .kill: .kill
        case .killedTokens: .killedTokens
        case .replicas: .replicas
        case .replica: .replica
        case .audit: .audit
        case .caches: .caches
        case .cachePurge: .cachePurge
        case .lock: .lock
        case .unlock: .unlock
        case .approvals: .approvals
        }
    }

    /// Whether the resource needs no authentication.
    var isOpen: Bool { self == .health || self == .readiness }

    /// Whether the resource is served on a listener that requires no tokens.
    var isServedWithoutTokens: Bool { self.isOpen || self == .metrics }

    /// The name in a percent-encoded path segment (RFC 3986 §2.1).
    private static func name(_ segment: Substring) -> String? {
        let escaped = Array(segment.utf8)
        guard let bytes = PercentCoding.decode(escaped.span, isForm: false) else { return nil }
        guard (1...Self.longestName).contains(bytes.count),
            bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") })
        else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// The maximum length in bytes. No configured name is longer than ``AccountFamily/longestName``; records of other
    /// versions may have longer names.
    private static let longestName = 256
}

/// The address of a connection's peer, as records show it.
enum PeerAddress {
    /// Such as `127.0.0.1:51234`; `nil` if the system does not report it, as after the connection has ended.
    static func text(of connection: any Channel) -> String? {
        guard let address = connection.remoteAddress else { return nil }
        switch address {
        case .v4: return "\(address.ipAddress ?? "?"):\(address.port ?? 0)"
        case .v6: return "[\(address.ipAddress ?? "?")]:\(address.port ?? 0)"
        case .unixDomainSocket: return "unix socket"
        }
    }
}
