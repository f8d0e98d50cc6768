internal import HTTPTypes
internal import TokenModel

/// A request as a browser describes it: the host that it was sent to, the page that sent it, and the session.
///
/// A page on the internet can make a browser send requests to any address that the browser's machine can reach. The
/// page can't choose `Origin`, `Sec-Fetch-Site` or `Host`, and can't send `Martlet-Session` without a preflight
/// request.
struct BrowserRequest {
    private let fields: HTTPFields
    private let method: HTTPRequest.Method
    private let authority: Authority
    private let isEncrypted: Bool

    /// - Throws: ``AdminError/Code/forbidden`` if `Host` is a name and there is no TLS. A page can have its own name
    ///   resolve to this address (DNS rebinding), and then has the same origin; it can't do that with an address. With
    ///   TLS, the browser has seen a certificate for the name, and the name of such a page is not in it.
    init(_ request: HTTPRequest, isEncrypted: Bool) throws(AdminError) {
        self.isEncrypted = isEncrypted
        guard let authority = request.authority.flatMap({ Authority($0, mayBeName: isEncrypted) }) else {
            throw .forbidden("Host is not an address; open the dashboard by an IP address or localhost, not by a name")
        }
        self.fields = request.headerFields
        self.method = request.method
        self.authority = authority
    }

    /// Requires that a page of this listener sent the request.
    ///
    /// - Throws: ``AdminError/Code/forbidden`` if the browser names another page, or names none for a change.
    func requireOwnPage() throws(AdminError) {
        let origins = self.fields[values: .origin]
        guard origins.allSatisfy({ $0.lowercased() == self.origin }) else {
            throw .forbidden("Origin says that a page from elsewhere sent the request")
        }
        let sites = self.fields["Sec-Fetch-Site"]
        guard sites == nil || sites == "same-origin" else {
            throw .forbidden("Sec-Fetch-Site says that a page from elsewhere sent the request")
        }
        guard !origins.isEmpty || self.method == .get || self.method == .head else {
            throw .forbidden("a change needs the Origin field, which browsers always send with it")
        }
    }

    private var origin: String { "\(self.isEncrypted ? "https" : "http")://\(self.authority.text)" }

    /// The tickets that may name the session, one for each cookie of its name; empty if the request lacks the cookie
    /// or the key.
    ///
    /// A browser sends the cookies of all ports of a host, those with longer paths first. So a page on another port
    /// can put any number of cookies of that name before the session's own. Such a cookie is useless without the key.
    /// So the last ``mostCookies`` are tried, starting at the end, where the cookie with the shortest path is.
    var tickets: [SessionStore.Ticket] {
        guard let key = self.fields["Martlet-Session"].map(Secret.init) else { return [] }
        let name = self.cookieName + "="
        let cookies = self.fields[values: .cookie].flatMap { field in
            field.split(separator: ";").map { $0.drop { $0 == " " } }
        }
        let ids = cookies.filter { $0.hasPrefix(name) }.map { Secret(String($0.dropFirst(name.count))) }
        return ids.suffix(Self.mostCookies).reversed().map { SessionStore.Ticket(id: $0, key: key) }
    }

    private static let mostCookies = 8

    /// The value of `Set-Cookie` (RFC 6265 §4.1) for a session; `nil` deletes the cookie.
    ///
    /// The cookie has no `Max-Age`, so it ends with the browser. It is `Secure` only over TLS, because some browsers
    /// reject that over `http://`.
    func cookie(for ticket: SessionStore.Ticket?) -> String {
        let id = ticket?.id.unredactedText ?? ""
        return
            "\(self.cookieName)=\(id); Path=/; HttpOnly; SameSite=Strict\(self.isEncrypted ? "; Secure" : "")\(ticket == nil ? "; Max-Age=0" : "")"
    }

    /// Contains the port: a browser shares cookies between all ports of a host, so gateways on one machine would
    /// otherwise overwrite each other's cookie.
    private var cookieName: String { "martlet-session" + (self.authority.port.map { "-\($0)" } ?? "") }
}

extension Secret {
    /// The text for the browser that receives it.
    var unredactedText: String {
        self.withUnredacted { bytes in String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self) }
    }
}

/// The value of `Host`: `localhost`, an IP address or, if allowed, another name, and a port.
private struct Authority {
    let text: String
    /// As it was written.
    let port: Substring?

    init?(_ text: String, mayBeName: Bool) {
        let text = text.lowercased()
        let host: Substring
        let rest: Substring
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = text[..<end].dropFirst()
            rest = text[end...].dropFirst()
            guard host.contains(":"), host.allSatisfy({ $0.isHexDigit && $0.isASCII || $0 == ":" || $0 == "." }) else {
                return nil
            }
        } else {
            host = text.prefix { $0 != ":" }
            rest = text[host.endIndex...]
            guard host == "localhost" || Self.isIPv4(host) || mayBeName && Self.isName(host) else { return nil }
        }
        guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
        let port = rest.dropFirst()
        guard rest.isEmpty || (1...5).contains(port.count), port.allSatisfy({ $0.isASCII && $0.isNumber }) else {
            return nil
        }
        self.text = text
        self.port = rest.isEmpty ? nil : port
    }

    private static func isName(_ host: Substring) -> Bool {
        !host.isEmpty && host.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) || $0 == "-" || $0 == "." }
    }

    /// Whether the host is four decimal parts; `127.evil.example` is a name.
    private static func isIPv4(_ host: Substring) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.allSatisfy { (1...3).contains($0.count) && UInt8($0) != nil }
    }
}
