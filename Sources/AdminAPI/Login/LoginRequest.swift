internal import HTTPTypes
internal import SignIn
internal import TokenModel

/// What a browser asks the listener for sign-ins to do.
///
/// A page on the internet can make a browser send requests here, with the browser's cookies. It can't choose
/// `Host`, `Sec-Fetch-Dest` or `Sec-Fetch-Mode`. So only what a person sees in a window of its own is served: no
/// images, frames, fetches or prefetches, each of which could use up what a person is about to do. A window may be sent
/// here from any other site, because that is how providers answer.
enum LoginRequest: Sendable {
    /// Begins a sign-in in this browser.
    ///
    /// - Parameter isNavigation: whether the browser says that a person opens it.
    case start(SignInID, isNavigation: Bool)
    /// A provider's answer.
    ///
    /// - Parameter redirectURI: where it came to.
    case answer(query: String, redirectURI: String)
    /// Shows how a sign-in has ended.
    case done(SignInID)

    /// - Throws: the reason that the request is not served.
    init(_ request: HTTPRequest, at site: LoginSite) throws(LoginRefusal) {
        let fields = request.headerFields
        // The first Host field is the authority; further ones stay among the fields.
        guard site.isNamed(by: request.authority), fields["Host"] == nil,
            let target = request.path, target.hasPrefix("/")
        else { throw .misdirected }
        guard request.method == .get else { throw .methodNotAllowed }
        guard fields["Sec-Fetch-Dest"] ?? "document" == "document",
            fields["Sec-Fetch-Mode"] ?? "navigate" == "navigate",
            !Self.foreseen.contains(where: { fields[$0]?.lowercased().contains("prefetch") == true })
        else { throw .forbidden }
        // The path is taken exactly as it was sent: a path with unusual bytes must not be read as another one.
        let path = target.prefix { $0 != "?" }
        let query = target.dropFirst(path.count + 1)
        if path.hasPrefix("/login/start/") {
            self = .start(
                try Self.id(path.dropFirst("/login/start/".count)),
                isNavigation: fields["Sec-Fetch-Mode"] != nil
            )
        } else if path.hasPrefix("/login/done/") {
            self = .done(try Self.id(path.dropFirst("/login/done/".count)))
        } else if path == site.path || path.hasPrefix("/login/") && !query.isEmpty {
            // A provider may have a redirect URI of its own here. The sign-in knows it, and compares it.
            self = .answer(query: String(query), redirectURI: site.address(of: path))
        } else {
            throw .notFound
        }
    }

    /// Fields with which browsers mark a request for a page that nobody has asked for yet.
    private static let foreseen = ["Sec-Purpose", "Purpose", "X-Moz"]

    private static func id(_ text: Substring) throws(LoginRefusal) -> SignInID {
        let isID = text.utf8.allSatisfy { byte in
            byte == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        guard isID, text.utf8.count == 65 else { throw .notFound }
        return SignInID(String(text))
    }
}

/// Why a request is not served. The responses say no more than the status, because anybody may ask.
enum LoginRefusal: Error {
    /// Not for this site.
    case misdirected
    /// Not sent by a person's own click, or by the provider's redirect after it.
    case forbidden
    case notFound
    case methodNotAllowed

    var status: HTTPResponse.Status {
        switch self {
        case .misdirected: .misdirectedRequest
        case .forbidden: .forbidden
        case .notFound: .notFound
        case .methodNotAllowed: .methodNotAllowed
        }
    }
}
