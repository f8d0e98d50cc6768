internal import TextCoding

/// A sign-in as text for people.
package struct SignInText: Sendable {
    private let times: RelativeTime

    package init(times: RelativeTime) {
        self.times = times
    }

    /// What to do, before the command waits: one line each.
    ///
    /// - Parameter browser: whether a browser is opened.
    package func invitation(_ signIn: SignInReply, by way: LoginWay, browser: Bool) -> [String] {
        let account = signIn.account
        // Not until a time of the gateway's clock, which may differ from the one here.
        let limit = "within \(RelativeTime.amount(UInt64(signIn.lifetime.components.seconds)))"
        switch way {
        case .device:
            let complete = signIn.verificationURIComplete.map { ["or this one, which has the code in it:", $0] }
            return [
                "to sign in for \(account), open this address on any device \(limit), and type the code "
                    + "\(signIn.userCode ?? "-"):",
                signIn.verificationURI ?? "-",
            ] + (complete ?? [])
        case .paste:
            return [
                "to sign in for \(account), open this address in a browser on any machine \(limit):", signIn.url ?? "-",
                "then the browser is sent to an address that it may not be able to show: copy that from its address bar",
            ]
        case .loopback, .gateway:
            let place = way == .loopback ? "a browser of this machine" : "a browser"
            return [
                browser
                    ? "to sign in for \(account), a browser opens; if none does, open this address in \(place) \(limit):"
                    : "to sign in for \(account), open this address in \(place) \(limit):",
                signIn.url ?? "-",
            ]
        }
    }

    /// The message after a sign-in that brought tokens.
    ///
    /// - Parameter account: the account now; `nil` if it is not known.
    package func success(_ signIn: SignInReply, _ account: AccountReply?) -> String {
        AccountText(times: self.times).signedIn(signIn.account, account)
    }

    /// The warning about scopes that were not granted; `nil` if there are none.
    package func warning(_ signIn: SignInReply) -> String? {
        let missing = signIn.missingScopes
        guard !missing.isEmpty else { return nil }
        return "warning: \(missing.count == 1 ? "this scope was" : "these scopes were") not granted: "
            + "\(missing.joined(separator: " ")); requests that need \(missing.count == 1 ? "it" : "them") will be refused: "
            + "check scopes of accounts.\(signIn.account) and login.scopes of providers.\(signIn.provider), and what the client "
            + "may ask for, and sign in again and consent to all of it"
    }

    /// The command's failure for a sign-in that brought no tokens; `nil` if it did.
    package func failure(_ signIn: SignInReply) -> CommandFailure? {
        switch signIn.state {
        case "done": return nil
        case "cancelled":
            return CommandFailure(.no, "the sign-in for \(signIn.account) was cancelled; its tokens are what they were")
        default:
            let reason = signIn.error?.message ?? signIn.error?.code ?? signIn.state
            let help = self.help(signIn).map { "; \($0)" } ?? ""
            return CommandFailure(.no, "the sign-in for \(signIn.account) failed: \(reason)\(help)")
        }
    }

    /// What helps; `nil` if the gateway's message says all.
    private func help(_ signIn: SignInReply) -> String? {
        let again = "martlet login \(ShellWord.quoted(signIn.account))"
        let provider = "providers.\(signIn.provider)"
        guard signIn.state != "expired" else { return "\(again) starts another" }
        switch signIn.error?.code {
        case "no_refresh_token":
            return "many providers give one only when asked for offline access: see login.extra (access_type: "
                + "offline), login.prompt (consent) and login.scopes (offline_access) of \(provider), whichever it knows"
        case "subject_differs":
            return "sign in as the one whose account it is, perhaps in another browser session"
        case "code_refused", "provider_config":
            return "check client_id, client_secret, client_auth and login.redirect_uri of \(provider), and the "
                + "redirect URIs that the client is registered with"
        case "not_configured": return "add accounts.\(signIn.account) to the configuration first"
        case "answer_lost", "provider_unreachable", "not_stored", "audit_unavailable", "interrupted", "expired":
            return "the gateway's log tells more; \(again) starts another"
        default: return nil
        }
    }
}
