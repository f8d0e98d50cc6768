internal import HTTPTypes
internal import SignIn
internal import TokenModel

/// A page that says how a sign-in stands, or why a request about it can't be fulfilled, and what to do then.
struct LoginPage {
    let status: HTTPResponse.Status
    let tone: BrowserPage.Tone
    let title: Markup
    let content: [Markup]
    /// Whether the browser loads it again after 2 s.
    var isReloaded = false
    /// Seconds until the request may succeed.
    var retryAfter: Int?

    init(_ status: HTTPResponse.Status, _ tone: BrowserPage.Tone, _ title: Markup, _ content: [Markup]) {
        self.status = status
        self.tone = tone
        self.title = title
        self.content = content
    }

    private static let follows: Markup = "<p>This page shows by itself when that is done.</p>"
    private static let again: Markup = """
        <p>Begin again from the dashboard or with <code>martlet login</code>.</p>
        """
}

// MARK: - How a sign-in stands

extension LoginPage {
    init(_ report: SignInReport) {
        let account: Markup = "<code>\(report.account.rawValue)</code>"
        let provider: Markup = "<code>\(report.provider.rawValue)</code>"
        switch report.state {
        case .pending:
            self.init(
                .ok,
                .waiting,
                "Waiting for the provider",
                ["<p>Nobody has signed in to account \(account) at provider \(provider) yet.</p>", Self.follows]
            )
            self.isReloaded = true
        case .redeeming:
            self.init(
                .ok,
                .waiting,
                "Getting the tokens",
                ["<p>Martlet is getting the tokens of account \(account) from provider \(provider).</p>", Self.follows]
            )
            self.isReloaded = true
        case .done:
            self.init(
                .ok,
                report.missingScopes.isEmpty ? .good : .notice,
                "Signed in",
                [
                    "<p>Account \(account) has its tokens of provider \(provider).</p>",
                    Self.missing(report.missingScopes),
                    "<p>You can close this page.</p>",
                ]
            )
        case .failed:
            let message = report.failure.map { Self.sentence($0.message) } ?? ""
            self.init(
                .ok,
                .bad,
                "The sign-in has failed",
                [
                    "<p>Account \(account) got no tokens of provider \(provider).</p>",
                    "<p class=\"detail\">\(message)</p>",
                    "<p class=\"code\"><code>\(report.failure?.code.rawValue ?? "")</code></p>",
                    Self.again,
                ]
            )
        case .cancelled:
            self.init(
                .ok,
                .notice,
                "The sign-in was cancelled",
                ["<p>Account \(account) is as it was before.</p>", Self.again]
            )
        case .expired:
            self.init(
                .ok,
                .bad,
                "The time for this sign-in is over",
                ["<p>Nobody completed it within 10 minutes. Account \(account) is as it was before.</p>", Self.again]
            )
        }
    }

    private static func missing(_ scopes: [String]) -> Markup {
        guard !scopes.isEmpty else { return "" }
        let items: [Markup] = scopes.map { "<li><code>\($0)</code></li>" }
        return """
            <p>The provider did not grant everything. What needs these scopes will be refused:</p>
            <ul>\(items)</ul>
            """
    }

    /// An operator's message as a sentence.
    private static func sentence(_ message: String) -> String {
        message.prefix(1).uppercased() + message.dropFirst() + (message.hasSuffix(".") ? "" : ".")
    }
}

// MARK: - Errors

extension LoginPage {
    /// What the browser asked for.
    enum Stage { case start, answer, done }

    static let unknown = LoginPage(
        .notFound,
        .bad,
        "There is no such sign-in",
        ["<p>A later one of the same account may have taken its place.</p>", Self.again]
    )

    init(_ error: SignInError, at stage: Stage) {
        // Only whoever began the sign-in knows its id. An answer may be a stranger's attempt, which learns nothing about
        // the sign-in.
        let isSilent = stage == .answer && error.code != .invalidAnswer && error.code != .anotherBrowser
        let detail: Markup = isSilent ? "" : "<p class=\"detail\">\(Self.sentence(error.message))</p>"
        switch error.code {
        case .invalidAnswer, .anotherBrowser, .invalidRedirectURI:
            self.init(
                .badRequest,
                .bad,
                "This is no answer to a sign-in",
                [detail, "<p>Nothing was changed.</p>", Self.again]
            )
        case .unknownAccount, .unknownSignIn:
            self = .unknown
        case .conflict where stage == .answer:
            self.init(
                .conflict,
                .bad,
                "This sign-in is over",
                [
                    "<p>It was answered already, was cancelled, or its time is over.</p>",
                    "<p>This address was not used again, and nothing was changed.</p>",
                    Self.again,
                ]
            )
        case .conflict:
            self.init(.conflict, .bad, "This sign-in can't be opened", [detail, Self.again])
        case .providerRefused:
            self.init(.badGateway, .bad, "The provider refused the sign-in", [detail, "<p>Nothing was changed.</p>"])
        case .providerUnreachable:
            self.init(
                .serviceUnavailable,
                .bad,
                "The provider can't be reached",
                [detail, "<p>Nothing was changed. Reload this page to try again.</p>"]
            )
            self.retryAfter = 5
        case .storeLost:
            let reason: Markup = stage == .answer ? ": the code was not used" : ""
            self.init(
                .serviceUnavailable,
                .bad,
                "The gateway can't reach its store",
                ["<p>Reload this page to try again\(reason).</p>"]
            )
            self.retryAfter = 5
        case .unreadable:
            self.init(
                .serviceUnavailable,
                .bad,
                "The gateway can't read the sign-in",
                ["<p>Its record can't be decrypted, and the log says why. Nothing was changed.</p>"]
            )
        }
    }
}
