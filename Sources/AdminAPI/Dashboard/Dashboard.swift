internal import HTTPTypes
internal import HummingbirdCore
internal import Logging
internal import Synchronization
internal import TextCoding
internal import TokenModel

/// The page that operators use in a browser, and the sessions with which the page uses the API.
///
/// The page can do only what the API can: it reads and changes everything over `/v1`. A request with an admin token is
/// authenticated by the token, as elsewhere. A request with a session is authenticated if the page itself sent it.
final class Dashboard: Sendable {
    let door: AdminAuthenticator
    private let isEncrypted: Bool
    private let limits: AdminLimits
    private let timepiece: Timepiece
    private let sessions: Mutex<SessionStore>
    private let logger: Logger

    /// - Parameter isEncrypted: whether browsers connect over TLS.
    init(_ door: AdminAuthenticator, isEncrypted: Bool, limits: AdminLimits, timepiece: Timepiece, logger: Logger) {
        self.door = door
        self.isEncrypted = isEncrypted
        self.limits = limits
        self.timepiece = timepiece
        self.sessions = Mutex(SessionStore(limits.sessions))
        self.logger = logger
    }

    /// Authenticates a request to the API, by a token or by a session.
    ///
    /// - Returns: the administrator whose token or session it is.
    /// - Throws: as ``AdminAuthenticator/admit(_:)``; ``AdminError/Code/forbidden`` for a session's cookie that
    ///   another page sent.
    func admit(_ request: HTTPRequest) async throws(AdminError) -> Administrator {
        guard request.headerFields[.authorization] == nil, request.headerFields[.cookie] != nil else {
            return try await self.door.admit(request.headerFields[.authorization])
        }
        let browser = try BrowserRequest(request, isEncrypted: self.isEncrypted)
        try browser.requireOwnPage()
        guard let session = self.session(of: browser) else { try await self.door.refuse() }
        return session.administrator
    }

    /// Whether the request presents a token, valid or not, in a field or to sign in.
    static func presentsToken(_ request: Request) -> Bool {
        request.headers[.authorization] != nil
            || request.method == .post && DashboardPath(of: request.head) == .session
    }

    /// Ends all sessions, because the token of a session may not be valid any more.
    func endSessions() {
        self.sessions.withLock { $0.endAll() }
    }

    /// - Returns: `nil` if the path does not belong to the dashboard.
    @concurrent
    func respond(_ request: Request, _ body: inout RequestBodyReader) async throws -> AdminResponse? {
        guard let path = DashboardPath(of: request.head) else { return nil }
        guard path.methods.contains(request.method) else {
            throw AdminError.methodNotAllowed(path.methods.map(\.rawValue).joined(separator: ", "))
        }
        let browser = try BrowserRequest(request.head, isEncrypted: self.isEncrypted)
        if let file = path.file {
            return AdminResponse(.ok, bytes: file.bytes, contentType: file.contentType, fields: DashboardFields.all)
        }
        try browser.requireOwnPage()
        return request.method == .post ? try await self.signIn(browser, &body) : try await self.signOut(browser)
    }

    @concurrent
    private func signIn(_ browser: BrowserRequest, _ body: inout RequestBodyReader) async throws -> AdminResponse {
        let form = try SignInForm(try await body.read(limit: SignInForm.longest, within: self.limits.bodyTime))
        let ticket = SessionStore.Ticket.random()
        while true {
            // The era is read before the token is checked. If the tokens are replaced in between, the token is checked
            // again.
            let era = self.sessions.withLock { $0.era }
            let administrator = try await self.door.admit(presenting: form.token)
            let now = self.timepiece.now.boot
            guard self.sessions.withLock({ $0.begin(ticket, for: administrator, in: era, at: now) }) else { continue }
            self.logger.info(
                "somebody has signed in to the dashboard",
                metadata: [LogField.administrator: "\(administrator.name)"]
            )
            return self.respond(SessionResponse(ticket, administrator), cookie: browser.cookie(for: ticket))
        }
    }

    private func signOut(_ browser: BrowserRequest) async throws(AdminError) -> AdminResponse {
        guard let session = self.session(of: browser) else { try await self.door.refuse() }
        self.sessions.withLock { $0.end(session.ticket) }
        return self.respond(SessionEndResponse(), cookie: browser.cookie(for: nil))
    }

    /// The session of the request, and its administrator; `nil` if that has ended or never existed.
    private func session(
        of browser: BrowserRequest
    ) -> (ticket: SessionStore.Ticket, administrator: Administrator)? {
        let (tickets, now) = (browser.tickets, self.timepiece.now.boot)
        return self.sessions.withLock { book in
            for ticket in tickets {
                if let administrator = book.administrator(presenting: ticket, at: now) {
                    return (ticket, administrator)
                }
            }
            return nil
        }
    }

    private func respond(_ content: some Encodable, cookie: String) -> AdminResponse {
        var fields = DashboardFields.all
        fields[.setCookie] = cookie
        return AdminResponse(.ok, content, fields: fields)
    }
}

/// The header fields of each response of the dashboard.
enum DashboardFields {
    /// Allows nothing from other origins, nothing inline and no embedding in a frame. No script can turn text into
    /// markup.
    private static let contentPolicy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self'",
        "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'",
    ].joined(separator: "; ")

    static let all: HTTPFields = {
        var fields: HTTPFields = [:]
        fields[.contentSecurityPolicy] = Self.contentPolicy
        fields[.crossOriginResourcePolicy] = "same-origin"
        fields["Cross-Origin-Opener-Policy"] = "same-origin"
        // With `no-referrer`, some browsers send no usable `Origin` either.
        fields["Referrer-Policy"] = "same-origin"
        return fields
    }()
}

extension HTTPFields {
    /// Accesses a field whose name the library does not define.
    subscript(_ name: String) -> String? {
        get { HTTPField.Name(name).flatMap { self[$0] } }
        set { if let name = HTTPField.Name(name) { self[name] = newValue } }
    }
}

/// What the dashboard serves besides the API.
enum DashboardPath: String, Sendable, CaseIterable {
    case page = "/"
    case style = "/dashboard.css"
    case script = "/dashboard.js"
    /// The modules that the script imports.
    case common = "/page.js"
    case accounts = "/accounts.js"
    case charts = "/charts.js"
    case login = "/login.js"
    case lock = "/lock.js"
    case emblem = "/martlet.svg"
    /// Where operators sign in (`POST`) and out (`DELETE`).
    case session = "/session"

    /// - Parameter request: its path is taken exactly as it was sent: a path with unusual bytes must not be read as
    ///   another one.
    init?(of request: HTTPRequest) {
        guard let path = request.path?.prefix(while: { $0 != "?" }) else { return nil }
        self.init(rawValue: String(path))
    }

    var methods: [HTTPRequest.Method] {
        switch self {
        case .page, .style, .script, .common, .accounts, .charts, .login, .lock, .emblem: [.get, .head]
        case .session: [.post, .delete]
        }
    }

    /// The file that is served; `nil` if there is none. It is part of the program, so a container needs no other
    /// files.
    var file: (contentType: String, bytes: [UInt8])? {
        switch self {
        case .page: ("text/html; charset=utf-8", PackageResources.dashboard_html)
        case .style: ("text/css; charset=utf-8", PackageResources.dashboard_css)
        case .script: ("text/javascript; charset=utf-8", PackageResources.dashboard_js)
        case .common: ("text/javascript; charset=utf-8", PackageResources.page_js)
        case .accounts: ("text/javascript; charset=utf-8", PackageResources.accounts_js)
        case .charts: ("text/javascript; charset=utf-8", PackageResources.charts_js)
        case .login: ("text/javascript; charset=utf-8", PackageResources.login_js)
        case .lock: ("text/javascript; charset=utf-8", PackageResources.lock_js)
        case .emblem: ("image/svg+xml", PackageResources.martlet_svg)
        case .session: nil
        }
    }
}

/// What an operator sends to sign in: a form (`application/x-www-form-urlencoded`) with the single field `token`.
struct SignInForm {
    let token: Secret

    /// The maximum size in bytes, which is more than any admin token needs.
    static let longest = 64 << 10

    init(_ body: [UInt8]) throws(AdminError) {
        let prefix = Array("token=".utf8)
        guard body.starts(with: prefix), let token = Self.decoded(body.dropFirst(prefix.count)), !token.isEmpty else {
            throw .invalidField("token", "the form has not the one field token")
        }
        // Tokens are often pasted with a line end.
        self.token = Secret(token.drop { $0 <= 0x20 }.reversed().drop { $0 <= 0x20 }.reversed())
    }

    /// - Returns: `nil` for text that no browser produces.
    private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard !text.contains(where: { $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: "=") }) else { return nil }
        let text = Array(text)
        return PercentCoding.decode(text.span, isForm: true)
    }
}
