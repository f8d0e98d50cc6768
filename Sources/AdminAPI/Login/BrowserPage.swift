internal import Crypto
internal import TextCoding

/// A page for somebody who signs in, at the gateway's listener or at the command on their machine: one response without
/// scripts.
package struct BrowserPage: Sendable {
    /// What the page is about: decides its colour and sign.
    package enum Tone: String, Equatable, Sendable { case good, bad, waiting, notice }

    private let tone: Tone
    private let title: Markup
    private let content: [Markup]

    package init(_ tone: Tone, _ title: Markup, _ content: [Markup]) {
        self.tone = tone
        self.title = title
        self.content = content
    }

    package var html: String { self.markup.html }

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

    /// `Content-Security-Policy` of the page: it may have its own style, and nothing else.
    package static let contentPolicy = [
        "default-src 'none'", "style-src 'sha256-\(Self.styleHash)'", "frame-ancestors 'none'", "base-uri 'none'",
        "form-action 'none'",
    ].joined(separator: "; ")

    private static let styleHash = Self.text(Base64.encode(Array(SHA256.hash(data: Array(Self.style.html.utf8)))))

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
