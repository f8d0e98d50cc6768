internal import HTTPTypes
internal import NIOCore
internal import SignIn
internal import TextCoding
internal import TokenModel

/// The resource of the admin API that a request's path names.
enum AdminRoute: Equatable, Sendable {
    case health
    case readiness
    case metrics
    case description
    case status
    case history
    case accounts
    case account(AccountID)
    /// The account with its unrevoked tokens. This requires reading all unrevoked tokens of the store.
    case accountWithUnrevoked(AccountID)
    case tokens(AccountID)
    case refresh(AccountID)
    case adoption(AccountID)
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
        case 2 where segments[0] == "v1" && segments[1] == "accounts": self = .accounts
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
        case .refresh, .adoption, .signIns, .killing, .revival, .cachePurge, .unlock: [.post]
        }
    }

    /// The kind of action that a request with one of these methods is.
    func deed(_ method: HTTPRequest.Method) -> AdminActionKind {
        if method == .get || method == .head { return .reading }
        return self == .killing || self == .cachePurge ? .killing : .changing
    }

    /// The same route with the parameters of the request's query.
    func with(_ query: String?) throws(AdminError) -> AdminRoute {
        guard let query else { return self }
        switch self {
        case .audit: return .audit(try AuditQuery(query))
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

    /// The maximum length in bytes. No configured name is longer than 64; records of other versions may have longer
    /// names.
    private static let longestName = 256
}

/// The requested records of the audit log.
struct AuditQuery: Equatable, Sendable {
    /// The number of the last record that the client knows.
    private(set) var after: UInt64 = 0
    private(set) var limit = 100

    static let standard = AuditQuery()

    private init() {}

    /// Reads `after=N&limit=N`, each of them at most once.
    init(_ query: String) throws(AdminError) {
        guard let page = PageParameters(query), page.after.map(PageParameters.isNumber) ?? true else {
            throw Self.malformed
        }
        if let after = page.after {
            guard let after = UInt64(after) else { throw Self.malformed }
            self.after = after
        }
        self.limit = page.limit ?? self.limit
    }

    private static let malformed = AdminError.invalidField(
        "query",
        "the query is not after=NUMBER and limit=NUMBER, with a limit of 1 to \(PageParameters.longest)"
    )
}

/// The requested page of the tokens that a kill took away.
struct KilledTokensQuery: Equatable, Sendable {
    /// The cursor of the page before; `nil`: the first page.
    private(set) var after: String?
    private(set) var limit = PageParameters.longest

    static let standard = KilledTokensQuery()

    private init() {}

    /// Reads `after=CURSOR&limit=N`, each of them at most once.
    init(_ query: String) throws(AdminError) {
        guard let page = PageParameters(query) else { throw Self.malformed }
        if let after = page.after {
            let escaped = Array(after.utf8)
            guard let bytes = PercentCoding.decode(escaped.span, isForm: false),
                let cursor = String(validating: bytes, as: UTF8.self), Self.isCursor(cursor)
            else { throw Self.malformed }
            self.after = cursor
        }
        self.limit = page.limit ?? self.limit
    }

    private static let malformed = AdminError.invalidField(
        "query",
        "the query is not after=CURSOR, as next was, and limit=NUMBER, with a limit of 1 to \(PageParameters.longest)"
    )

    /// Whether the text can be the key of a token: letters, digits, and `/` `~` `.` `-` `_`.
    private static func isCursor(_ text: String) -> Bool {
        text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D...0x2F, 0x5F, 0x7E: true
            default: false
            }
        }
    }
}

/// The parameters of a query for a page.
private struct PageParameters {
    var after: String?
    var limit: Int?

    static let longest = 1_000
    private static let longestCursor = 256

    /// - Returns: `nil` for any other parameter, one that comes twice, and a limit that is none.
    init?(_ query: String) {
        for part in query.split(separator: "&", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2 else { return nil }
            switch sides[0] {
            case "after" where self.after == nil && (1...Self.longestCursor).contains(sides[1].utf8.count):
                self.after = String(sides[1])
            case "limit" where self.limit == nil && Self.isNumber(String(sides[1])):
                guard let limit = Int(sides[1]), (1...Self.longest).contains(limit) else { return nil }
                self.limit = limit
            default: return nil
            }
        }
    }

    /// Whether the text is digits only. The standard library's own parsing accepts a sign as well.
    static func isNumber(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
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
