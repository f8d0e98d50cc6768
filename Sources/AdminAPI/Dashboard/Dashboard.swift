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
    private let door: AdminDoor
    private let limits: AdminLimits
    private let timepiece: Timepiece
    private let sessions: Mutex<SessionBook>
    private let logger: Logger

    init(_ door: AdminDoor, limits: AdminLimits, timepiece: Timepiece, logger: Logger) {
        self.door = door
        self.limits = limits
        self.timepiece = timepiece
        self.sessions = Mutex(SessionBook(limits.sessions))
        self.logger = logger
    }

    /// Lets a request to the API in, by a token or by a session.
    ///
    /// - Throws: as ``AdminDoor/admit(_:)``; ``AdminError/Code/forbidden`` for a session's cookie from elsewhere.
    func admit(_ request: HTTPRequest) async throws(AdminError) {
        guard request.headerFields[.authorization] == nil, request.headerFields[.cookie] != nil else {
            return try await self.door.admit(request.headerFields[.authorization])
        }
        let browser = try BrowserRequest(request)
        try browser.requireOwnPage()
        guard self.session(of: browser) != nil else { try await self.door.refuse() }
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
    func answer(_ request: Request, _ body: inout RequestBodyReader) async throws -> AdminAnswer? {
        guard let path = DashboardPath(of: request.head) else { return nil }
        guard path.methods.contains(request.method) else {
            throw AdminError.methodNotAllowed(path.methods.map(\.rawValue).joined(separator: ", "))
        }
        let browser = try BrowserRequest(request.head)
        if let file = path.file {
            return AdminAnswer(.ok, bytes: file.bytes, contentType: file.contentType, fields: DashboardFields.all)
        }
        try browser.requireOwnPage()
        return request.method == .post ? try await self.signIn(browser, &body) : try await self.signOut(browser)
    }

    @concurrent
    private func signIn(_ browser: BrowserRequest, _ body: inout RequestBodyReader) async throws -> AdminAnswer {
        let form = try SignInForm(try await body.read(limit: SignInForm.longest, within: self.limits.bodyTime))
        let ticket = SessionBook.Ticket.random()
        var hasBegun = false
        while !hasBegun {
            // Before the token is looked at: where tokens are replaced meanwhile, it is looked at again.
            let era = self.sessions.withLock { $0.era }
            try await self.door.admit(presenting: form.token)
            let now = self.timepiece.now.boot
            hasBegun = self.sessions.withLock { $0.begin(ticket, in: era, at: now) }
        }
        self.logger.info("an operator has signed in to the dashboard")
        return self.answer(SessionAnswer(key: ticket.key.unredactedText), cookie: browser.cookie(for: ticket))
    }

    private func signOut(_ browser: BrowserRequest) async throws(AdminError) -> AdminAnswer {
        guard let ticket = self.session(of: browser) else { try await self.door.refuse() }
        self.sessions.withLock { $0.end(ticket) }
        return self.answer(SessionEndAnswer(), cookie: browser.cookie(for: nil))
    }

    /// What names the session that the request is sent for; `nil` where that has ended, or never was.
    private func session(of browser: BrowserRequest) -> SessionBook.Ticket? {
        let (tickets, now) = (browser.tickets, self.timepiece.now.boot)
        return self.sessions.withLock { book in tickets.first { book.admits($0, at: now) } }
    }

    private func answer(_ content: some Encodable, cookie: String) -> AdminAnswer {
        var fields = DashboardFields.all
        fields[.setCookie] = cookie
        return AdminAnswer(.ok, content, fields: fields)
    }
}
