internal import HTTPWire
internal import NIOCore

/// The parts of a browser's request that decide about it.
package struct LoopbackRequest: Equatable, Sendable {
    package let method: String
    /// With the port, if the browser sent one.
    package let host: String
    package let path: String
    /// From `?` on, or empty.
    package let query: String
    /// What the browser fetches it for (W3C Fetch Metadata); `nil` if it does not say.
    package let destination: String?

    package init(method: String, host: String, path: String, query: String, destination: String? = nil) {
        self.method = method
        self.host = host
        self.path = path
        self.query = query
        self.destination = destination
    }

    /// - Returns: `nil` for a target in absolute form, as proxies get it.
    init?(_ head: RequestHead) {
        guard head.target.authority == nil else { return nil }
        let bytes = Array(head.bytes.readableBytesView)
        func text(_ range: ByteRange) -> String {
            String(decoding: bytes[range.lower..<range.upper], as: UTF8.self)
        }
        self.method = text(head.methodName)
        self.host = text(head.host)
        self.path = text(head.target.path)
        self.query = text(head.target.query)
        let destinations = head.fields.filter { text($0.name).lowercased() == "sec-fetch-dest" }
        self.destination = destinations.isEmpty ? nil : destinations.map { text($0.value) }.joined(separator: ", ")
    }
}

/// The two addresses that a command serves on loopback while it waits for a browser: the redirect URI, and a clean page
/// about the outcome. Pages of the web can send requests there as well; they get nothing.
package struct LoopbackSite: Equatable, Sendable {
    /// What to do with a request.
    package enum Verdict: Equatable, Sendable {
        /// Hand this to the gateway.
        case answer(SignInAnswer)
        /// Show the outcome.
        case outcome
        case refuse(Refusal)
    }

    /// Why a request gets nothing.
    package enum Refusal: Int, Equatable, Sendable {
        /// It is no request of a browser that was sent back.
        case malformed = 400
        /// It was meant for another host, or for something other than a page.
        case foreign = 403
        case unknown = 404
    }

    private let redirect: LoopbackRedirect
    private let port: Int

    package init(_ redirect: LoopbackRedirect, port: Int) {
        self.redirect = redirect
        self.port = port
    }

    /// The redirect URI to sign in with.
    package var redirectURI: String { self.redirect.uri(port: self.port) }

    /// The path of the page about the outcome.
    package var outcomePath: String { self.redirect.requestPath == "/done" ? "/signed-in" : "/done" }

    /// The only values of `Host` that lead here. With any other name a page of the web could reach this port through
    /// its own name (DNS rebinding).
    private var hosts: [String] {
        // A browser leaves out the standard port (RFC 9110 §4.2.1).
        ["\(self.redirect.host):\(self.port)"] + (self.port == 80 ? [self.redirect.host] : [])
    }

    package func verdict(on request: LoopbackRequest) -> Verdict {
        guard self.hosts.contains(request.host.lowercased()) else { return .refuse(.foreign) }
        guard request.method == "GET" else { return .refuse(.malformed) }
        let isCallback = request.path == self.redirect.requestPath
        guard isCallback || request.path == self.outcomePath else { return .refuse(.unknown) }
        if let destination = request.destination, destination != "document" {
            return .refuse(.foreign)
        }
        guard isCallback else { return .outcome }
        let address = "http://\(self.redirect.host):\(self.port)\(request.path)\(request.query)"
        guard request.query.count > 1, let answer = SignInAnswer(address) else { return .refuse(.malformed) }
        return .answer(answer)
    }
}
