internal import HTTPTypes
internal import HummingbirdCore
internal import Logging
internal import Synchronization
internal import TokenModel

/// The page that operators see in a browser, and the sessions by which that page uses the API.
///
/// It can do what the API can and no more: all it shows and changes goes over `/v1`. Who presents an admin token there
/// is let in by that, as ever; who has a session, if the request comes from the page itself.
final class Dashboard: Sendable {
    let door: AdminAuthenticator
    private let isEncrypted: Bool
    private let limits: AdminLimits
    private let timepiece: Timepiece
    private let sessions: Mutex<SessionStore>
    private let logger: Logger

    /// - Parameter isEncrypted: browsers come over TLS.
    init(_ door: AdminAuthenticator, isEncrypted: Bool, limits: AdminLimits, timepiece: Timepiece, logger: Logger) {
        self.door = door
        self.isEncrypted = isEncrypted
        self.limits = limits
        self.timepiece = timepiece
        self.sessions = Mutex(SessionStore(limits.sessions))
        self.logger = logger
    }

    /// Lets a request to the API in, by a token or by a session.
    ///
    /// - Returns: whose token or session that is.
    /// - Throws: as ``AdminAuthenticator/admit(_:)``; ``AdminError/Code/forbidden`` for a session's cookie from elsewhere.
    func admit(_ request: HTTPRequest) async throws(AdminError) -> Administrator {
        guard request.headerFields[.authorization] == nil, request.headerFields[.cookie] != nil else {
            return try await self.door.admit(request.headerFields[.authorization])
        }
        let browser = try BrowserRequest(request, isEncrypted: self.isEncrypted)
        try browser.requireOwnPage()
        guard let session = self.session(of: browser) else { try await self.door.refuse() }
        return session.administrator
    }

    /// Whether a token is presented, or what is to pass for one, with the request or to sign in.
    static func presentsToken(_ request: Request) -> Bool {
        request.headers[.authorization] != nil
            || request.method == .post && DashboardPath(of: request.head) == .session
    }

    /// Ends all sessions: who has signed in with a token that is none any more has to sign in anew.
    func endSessions() {
        self.sessions.withLock { $0.endAll() }
    }

    /// - Returns: `nil` where the path is none of the dashboard's.
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
            // Before the token is looked at: where tokens are replaced meanwhile, it is looked at again.
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

    /// The session that the request is sent for, and whose it is; `nil` where that has ended, or never was.
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
