internal import AdminAPI
internal import TextCoding

/// What a browser on loopback gets to see. Every response forbids scripts, storing it, and naming its address to others.
package struct LoopbackPage: Equatable, Sendable {
    private let status: String
    private let tone: BrowserPage.Tone
    private let location: String?
    private let heading: String
    private let text: String

    private init(
        _ status: String,
        _ tone: BrowserPage.Tone,
        location: String? = nil,
        _ heading: String,
        _ text: String
    ) {
        self.status = status
        self.tone = tone
        self.location = location
        self.heading = heading
        self.text = text
    }

    /// What came of the sign-in.
    package static func outcome(_ signIn: SignInReply) -> LoopbackPage {
        switch signIn.state {
        case "done":
            LoopbackPage("200 OK", .good, "Signed in", "The gateway has tokens for \(signIn.account). \(Self.farewell)")
        default:
            LoopbackPage(
                "200 OK",
                .bad,
                "Not signed in",
                "\(signIn.error?.message ?? "The sign-in for \(signIn.account) is \(signIn.state)"). \(Self.farewell)"
            )
        }
    }

    /// The gateway could not be asked.
    package static let failure = LoopbackPage(
        "200 OK",
        .bad,
        "Not signed in",
        "The gateway did not take the answer. The terminal says why. \(farewell)"
    )

    /// Sends the browser on, so that the code leaves its address bar.
    package static func redirect(to path: String) -> LoopbackPage {
        LoopbackPage("303 See Other", .waiting, location: path, "Martlet", "The outcome is at \(path).")
    }

    /// The gateway says that this was no answer to this sign-in.
    package static func refusal(_ reason: String) -> LoopbackPage {
        LoopbackPage(
            "400 Bad Request",
            .notice,
            "This was not the answer",
            "\(reason). The command still waits for it."
        )
    }

    package static func refusal(_ refusal: LoopbackSite.Refusal) -> LoopbackPage {
        let status =
            switch refusal {
            case .malformed: "400 Bad Request"
            case .foreign: "403 Forbidden"
            case .unknown: "404 Not Found"
            }
        return LoopbackPage(status, .notice, "Nothing here", "This address is for a browser that signs in.")
    }

    private static let farewell = "You can close this page and go back to the terminal."

    /// The response as it is sent; the connection closes behind it.
    package var response: [UInt8] {
        let (heading, text) = (PlainText.line(self.heading), PlainText.line(self.text))
        let body = BrowserPage(self.tone, "\(heading)", ["<p>\(text)</p>"]).html
        let head = [
            "HTTP/1.1 \(self.status)",
            "Content-Type: text/html; charset=utf-8",
            "Content-Length: \(body.utf8.count)",
            "Cache-Control: no-store",
            "Referrer-Policy: no-referrer",
            "Content-Security-Policy: \(BrowserPage.contentPolicy)",
            "X-Content-Type-Options: nosniff",
            "Connection: close",
        ]
        let lines = head + (self.location.map { ["Location: \($0)"] } ?? []) + ["", body]
        return Array(lines.joined(separator: "\r\n").utf8)
    }
}
