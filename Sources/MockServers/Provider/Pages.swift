internal import NIOCore

/// The page that asks a person whether to approve a sign-in. It has no scripts.
struct ConsentPage {
    let request: AuthorizationRequest

    /// Stands for the request, so that the page need not repeat its parameters.
    let id: String

    /// What the person can decide.
    enum Decision: String {
        case approve
        case deny
    }

    var response: MockResponse {
        .page(
            title: "Sign in",
            content: """
                <p>\(HTML.escape(ClientRegistration.id)) wants to act for \
                <b>\(HTML.escape(self.request.account))</b>.</p>
                <p>Scope: \(HTML.escape(self.request.scope ?? "none was asked for"))</p>
                <form action="/oauth/consent" method="get">
                <input type="hidden" name="id" value="\(HTML.escape(self.id))">
                <button id="approve" name="decision" value="\(Decision.approve.rawValue)">Approve</button>
                <button id="deny" name="decision" value="\(Decision.deny.rawValue)">Deny</button>
                </form>
                """
        )
    }
}

/// The page into which a person types the user code of a device (RFC 8628 section 3.3).
struct UserCodePage {
    var response: MockResponse {
        .page(
            title: "Sign a device in",
            content: """
                <form action="/oauth/device" method="get">
                <label>Code <input name="user_code" autocomplete="off" required></label>
                <button id="continue">Continue</button>
                </form>
                """
        )
    }
}

extension MockResponse {
    /// A page of HTML. Browsers run no script in it, even if some markup was not escaped.
    fileprivate static func page(title: String, content: String) -> MockResponse {
        let text = """
            <!DOCTYPE html>
            <html lang="en">
            <head><meta charset="utf-8"><title>\(HTML.escape(title)): martlet-mock</title></head>
            <body>
            <h1>\(HTML.escape(title))</h1>
            \(content)
            </body>
            </html>

            """
        return MockResponse(
            status: 200,
            fields: [
                HeaderField("Content-Type", "text/html; charset=utf-8"),
                HeaderField("Cache-Control", "no-store"),
                // No form-action: browsers apply it to the redirection to the client as well.
                HeaderField("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
                HeaderField("Referrer-Policy", "no-referrer"),
            ],
            body: .whole(ByteBuffer(string: text))
        )
    }
}

/// Text within HTML.
enum HTML {
    /// The text as an element's or a quoted attribute's content.
    static func escape(_ text: String) -> String {
        text.reduce(into: "") { escaped, character in
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.append(character)
            }
        }
    }
}
