internal import Crypto
internal import HTTPTypes
internal import TextCoding

/// The pages as browsers get them: without scripts, in one response each.
extension LoginPage {
    var response: AdminResponse {
        var fields = LoginFields.all
        if self.isReloaded { fields["Refresh"] = "2" }
        fields[.retryAfter] = self.retryAfter.map(String.init)
        return AdminResponse(
            self.status,
            bytes: Array(self.markup.html.utf8),
            contentType: "text/html; charset=utf-8",
            fields: fields
        )
    }

    private var markup: Markup {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="robots" content="noindex">
        <title>\(self.title) – Martlet</title>
        <style>\(Self.style)</style>
        </head>
        <body>
        <main class="\(self.tone.rawValue)">
        <p class="brand">\(Self.emblem) Martlet</p>
        <h1>\(Self.sign(self.tone))<span>\(self.title)</span></h1>
        \(self.content)
        </main>
        </body>
        </html>

        """
    }

    private static let style = Markup(stringLiteral: Self.text(PackageResources.login_css))
    private static let emblem = Markup(stringLiteral: Self.text(PackageResources.martlet_svg))

    /// The hash by which the policy knows the style.
    fileprivate static let styleHash = Self.text(Base64.encode(Array(SHA256.hash(data: Array(Self.style.html.utf8)))))

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func sign(_ tone: Tone) -> Markup {
        let path: Markup =
            switch tone {
            case .good: "M5 10.5l3.2 3.2L15 7"
            case .bad: "M6.2 6.2l7.6 7.6m0-7.6l-7.6 7.6"
            case .notice: "M10 5.4v5.8m0 3v.2"
            case .waiting: "M10 5.6V10l3 2"
            }
        return """
            <svg class="sign" viewBox="0 0 20 20" aria-hidden="true">\
            <circle cx="10" cy="10" r="10"/><path d="\(path)"/></svg>
            """
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
    private static let contentPolicy = [
        "default-src 'none'", "style-src 'sha256-\(LoginPage.styleHash)'", "frame-ancestors 'none'", "base-uri 'none'",
        "form-action 'none'",
    ].joined(separator: "; ")

    static let all: HTTPFields = {
        var fields: HTTPFields = [:]
        fields[.contentSecurityPolicy] = Self.contentPolicy
        fields[.crossOriginResourcePolicy] = "same-origin"
        // Takes the window away from the page that opened it. Neither redirects nor cookies depend on that page.
        fields["Cross-Origin-Opener-Policy"] = "same-origin"
        // The address of an answer has the code.
        fields["Referrer-Policy"] = "no-referrer"
        return fields
    }()
}
