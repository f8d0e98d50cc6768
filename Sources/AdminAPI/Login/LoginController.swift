internal import HTTPTypes
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import SignIn
internal import TokenModel

/// Handles the requests of browsers in which somebody signs in, one at a time per connection.
///
///     /login/start/ID   → 303 to the provider, with a cookie
///     /login/callback?… → 303 to /login/done/ID, once the answer is taken; the cookie is deleted
///     /login/done/ID    → how it has ended, in a page whose address has nothing of the answer
final class LoginController: RequestResponder {
    let logger: Logger
    let door: AdminAuthenticator? = nil
    let requiresOriginForm = true

    private let current: @Sendable () -> SignInService?
    private let site: LoginSite
    private let timepiece: Timepiece

    init(_ current: @escaping @Sendable () -> SignInService?, at site: LoginSite, timepiece: Timepiece, logger: Logger)
    {
        self.current = current
        self.site = site
        self.timepiece = timepiece
        self.logger = logger
    }

    /// - Parameter recognized: called when the request names a sign-in, which a stranger can't.
    @concurrent
    func respond(
        to request: Request,
        with writer: consuming ResponseWriter,
        on connection: any Channel,
        recognized: @Sendable () -> Void
    ) async throws {
        // Nothing reads a body. It is only discarded, so that the client can read its response.
        var body = RequestBodyReader(request, on: connection)
        let answer: AdminResponse
        var isRefused = false
        do throws(LoginRefusal) {
            switch try LoginRequest(request.head, at: self.site) {
            case .start(let id, let isNavigation):
                answer = await self.start(id, isNavigation: isNavigation, recognized)
            case .answer(let query, let redirectURI):
                let cookies = LoginCookie.values(in: request.headers, at: self.site)
                answer = await self.take(query, at: redirectURI, cookies, on: connection, recognized)
            case .done(let id):
                answer = await self.showEnd(of: id, on: connection, recognized)
            }
        } catch {
            self.logger.debug(
                "a request to the listener for sign-ins was refused",
                metadata: ["http.status": .stringConvertible(error.status.code)]
            )
            answer = error.response
            isRefused = true
        }
        try await answer.write(to: writer, isHead: request.method == .head)
        try await body.discardRest()
        // So whoever only tries things out keeps no place.
        if isRefused { throw TurnedAway() }
    }

    /// Ends a connection after its response.
    private struct TurnedAway: Error {}

    /// - Throws: ``SignInError/Code/storeLost`` while the gateway is locked: its store is not open.
    private func signIns() throws(SignInError) -> SignInService {
        guard let current = self.current() else { throw SignInError(.storeLost, "the gateway is locked") }
        return current
    }

    private func start(
        _ id: SignInID,
        isNavigation: Bool,
        _ recognized: @Sendable () -> Void
    ) async -> AdminResponse {
        do throws(SignInError) {
            let (url, cookie) = try await self.signIns().open(id, isNavigation: isNavigation)
            recognized()
            self.logger.info("a browser was sent to the provider to sign in", metadata: Self.facts(id))
            return .redirect(to: url, cookie: LoginCookie(of: id, at: self.site).setting(cookie))
        } catch {
            self.report(error, "a sign-in could not be opened in a browser", id)
            return LoginPage(error, at: .start).response
        }
    }

    /// Takes a provider's answer. A browser can't send it again by itself, so it waits for a store that is out of reach.
    private func take(
        _ query: String,
        at redirectURI: String,
        _ cookies: [Secret],
        on connection: any Channel,
        _ recognized: @Sendable () -> Void
    ) async -> AdminResponse {
        let deadline = self.timepiece.now.boot.advanced(by: Self.storePatience)
        while true {
            do throws(SignInError) {
                let id = try await self.signIns().accept(query: query, at: redirectURI, cookies: cookies)
                recognized()
                self.logger.info("a provider's answer to a sign-in has come by browser", metadata: Self.facts(id))
                return .redirect(to: "/login/done/\(id)", cookie: LoginCookie(of: id, at: self.site).deletion)
            } catch {
                if error.code == .storeLost, await self.mayTryAgain(until: deadline, on: connection) { continue }
                self.report(error, "a provider's answer to a sign-in was not taken", nil)
                return LoginPage(error, at: .answer).response
            }
        }
    }

    private func showEnd(
        of id: SignInID,
        on connection: any Channel,
        _ recognized: @Sendable () -> Void
    ) async -> AdminResponse {
        let deadline = self.timepiece.now.boot.advanced(by: Self.endPatience)
        do throws(SignInError) {
            while true {
                let report = try await self.signIns().report(on: id)
                guard report.way == .gateway else { return LoginPage.unknown.response }
                recognized()
                let isOver = report.state != .pending && report.state != .redeeming
                if !isOver, await self.mayTryAgain(until: deadline, on: connection) { continue }
                return LoginPage(report).response
            }
        } catch {
            self.report(error, "the end of a sign-in could not be shown", id)
            return LoginPage(error, at: .done).response
        }
    }

    /// How long an answer waits for the store.
    private static let storePatience = Duration.seconds(10)
    /// How long a response waits for the end of a sign-in. After that, the page asks again.
    private static let endPatience = Duration.seconds(5)

    private func mayTryAgain(until deadline: BootInstant, on connection: any Channel) async -> Bool {
        let now = self.timepiece.now.boot
        guard connection.isActive, !Task.isCancelled, now < deadline else { return false }
        await self.timepiece.rest(until: now.advanced(by: .milliseconds(250)))
        return true
    }

    /// Anybody can cause the errors that a stranger's request has, so those are not worth an operator's time.
    private func report(_ error: SignInError, _ message: Logger.Message, _ id: SignInID?) {
        let level: Logger.Level =
            switch error.code {
            case .invalidAnswer, .invalidRedirectURI, .unknownSignIn, .unknownAccount: .debug
            // Only somebody who has the address or the answer can cause these.
            case .conflict: .info
            case .anotherBrowser: .warning
            case .providerRefused, .providerUnreachable, .storeLost, .unreadable: .warning
            }
        var facts = id.map(Self.facts) ?? [:]
        facts[LogField.code] = "\(error.code)"
        self.logger.log(level: level, message, metadata: facts)
    }

    /// The end of the id tells sign-ins apart, and is worth nothing without the rest.
    private static func facts(_ id: SignInID) -> Logger.Metadata { ["login.id": "\(id.rawValue.suffix(8))"] }
}
