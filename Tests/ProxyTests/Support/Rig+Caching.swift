import NIOCore
import Proxy

/// The messages of tests of the response cache.
enum Cached {
    static func get(_ target: String = "/acme/a", _ fields: String...) -> String { self.request("GET", target, fields) }

    static func request(_ method: String, _ target: String, _ fields: [String] = []) -> String {
        (["\(method) \(target) HTTP/1.1", "Host: a"] + fields + ["", ""]).joined(separator: "\r\n")
    }

    static func response(
        _ cacheControl: String,
        _ fields: String...,
        status: String = "200 OK",
        body: String = "first"
    ) -> String {
        let lines = ["HTTP/1.1 \(status)", "Cache-Control: \(cacheControl)"] + fields
        return (lines + ["Content-Length: \(body.utf8.count)", "", body]).joined(separator: "\r\n")
    }

    /// Fresh for a minute.
    static let fresh = response("max-age=60", "ETag: \"1\"")
    /// Another response than ``fresh`` and ``stale(_:)``.
    static let second = response("max-age=60", "ETag: \"2\"", body: "second")

    /// Stale since 40 seconds.
    ///
    /// - Parameter directives: further ones.
    static func stale(_ directives: String = "private") -> String {
        self.response("max-age=60, \(directives)", "ETag: \"1\"", "Age: 100")
    }

    /// A response without a body.
    static func empty(_ status: String, _ fields: String...) -> String {
        (["HTTP/1.1 \(status)"] + fields + ["Content-Length: 0", "", ""]).joined(separator: "\r\n")
    }

    static let notModified = "HTTP/1.1 304 Not Modified\r\n\r\n"
}

extension Rig.Setup {
    /// A setup with one route that stores responses, adapted by `change`. Time stands still: whoever waits for another
    /// request's response waits until it comes.
    static func caching(
        _ cache: CacheConfiguration = CacheConfiguration(),
        _ change: @escaping (inout RouteConfiguration) -> Void = { _ in }
    ) -> Rig.Setup {
        .route { route in
            route.cache = cache
            change(&route)
        }.frozen
    }
}

extension Rig {
    /// Has the upstream answer a request with `response`, which the gateway may store.
    func stored(
        _ response: String = Cached.fresh,
        for request: String = Cached.get()
    ) async throws -> (caller: Peer, upstream: Peer) {
        let caller = try await self.caller()
        try await caller.send(request)
        let upstream = try await self.upstream.accept()
        _ = try await upstream.request()
        try await upstream.send(response)
        _ = try await caller.answer()
        return (caller, upstream)
    }

    /// A request that has just been sent by a caller of its own.
    func asking(_ request: String = Cached.get()) async throws -> Peer {
        let caller = try await self.caller()
        try await caller.send(request)
        return caller
    }

    /// How many responses the first caching route has stored.
    var storedCount: Int {
        get async { await self.server.cacheStatus().first?.entries ?? 0 }
    }
}

extension Peer {
    /// Sends a request, and returns the response, whoever gives it.
    func ask(_ request: String = Cached.get()) async throws -> (head: Message, body: String) {
        try await self.send(request)
        let head = try await self.head()
        let hasBody = !request.hasPrefix("HEAD ") && head.status != 204 && head.status != 304
        return (head, hasBody ? String(buffer: try await self.body(of: head, endsWithClose: true)) : "")
    }

    /// Sends a request that `upstream` answers, and returns the response and the head that went upstream.
    func ask(
        _ request: String = Cached.get(),
        answeredBy response: String,
        from upstream: Peer
    ) async throws -> (head: Message, body: String, sent: Message) {
        try await self.send(request)
        let sent = try await upstream.request().head
        try await upstream.send(response)
        let (head, body) = try await self.answer()
        return (head, body, sent)
    }

    /// Answers each request that comes, until the connection ends.
    func answersAll(with response: String) -> Task<Void, any Error> {
        Task {
            while true {
                _ = try await self.request()
                try await self.send(response)
            }
        }
    }
}

extension Message {
    var cacheStatus: String { self["Cache-Status"] ?? "" }
    /// The response came from memory, and the upstream was not asked.
    var isHit: Bool { self.cacheStatus.hasPrefix("martlet; hit") }
}
