internal import HTTPTypes

/// The pages as browsers get them: without scripts, in one response each.
extension LoginPage {
    var response: AdminResponse {
        var fields = LoginFields.all
        if self.isReloaded { fields["Refresh"] = "2" }
        fields[.retryAfter] = self.retryAfter.map(String.init)
        return AdminResponse(
            self.status,
            bytes: Array(BrowserPage(self.tone, self.title, self.content).html.utf8),
            contentType: "text/html; charset=utf-8",
            fields: fields
        )
    }
}

extension LoginRefusal {
    /// A text that tells nothing but the status.
    var response: AdminResponse {
        var fields = LoginFields.all
        fields[.connection] = "close"
        if self == .methodNotAllowed { fields[.allow] = "GET" }
        return AdminResponse(
            self.status,
            bytes: Array("\(self.status.reasonPhrase)\n".utf8),
            contentType: "text/plain; charset=utf-8",
            fields: fields
        )
    }
}

extension AdminResponse {
    /// Sends a browser on with `GET`.
    static func redirect(to address: String, cookie: String) -> AdminResponse {
        var fields = LoginFields.all
        fields[.location] = address
        fields[.setCookie] = cookie
        return AdminResponse(.seeOther, bytes: [], contentType: "text/plain; charset=utf-8", fields: fields)
    }
}

/// The header fields of each response of the listener for sign-ins, beside those of ``AdminResponse/head``.
private enum LoginFields {
    static let all: HTTPFields = {
        var fields: HTTPFields = [:]
        fields[.contentSecurityPolicy] = BrowserPage.contentPolicy
        fields[.crossOriginResourcePolicy] = "same-origin"
        // Takes the window away from the page that opened it. Neither redirects nor cookies depend on that page.
        fields["Cross-Origin-Opener-Policy"] = "same-origin"
        // The address of an answer has the code.
        fields["Referrer-Policy"] = "no-referrer"
        return fields
    }()
}
