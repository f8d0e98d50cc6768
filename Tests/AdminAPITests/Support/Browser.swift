internal import NIOHTTP1
internal import Testing

/// The requests of an operator's browser on the dashboard.
struct Browser: Sendable {
    let caller: AdminCaller
    /// `NAME=ID`, as in a `Cookie` field; `nil` before a sign-in.
    var cookie: String?
    /// The session key that the page's script sends.
    var key: String?
    /// The fields that a browser adds by itself. A test can change them.
    var origin: String?
    var site: String? = "same-origin"
    var host: String?

    private struct Session: Decodable { let key: String }

    init(_ admin: AdminFixture) {
        self.caller = admin.caller
        self.origin = admin.caller.base
    }

    /// - Returns: the response. A successful sign-in sets ``cookie`` and ``key``.
    @discardableResult
    mutating func signIn(_ token: String = AdminFixture.adminToken) async throws -> AdminCaller.Answer {
        let answer = try await self.send(.POST, "/session", "token=\(token)")
        guard answer.status == 200 else { return answer }
        self.key = try answer.read(Session.self).key
        let set = try #require(answer.headers.first(name: "set-cookie"))
        self.cookie = set.split(separator: ";").first.map(String.init)
        return answer
    }

    @discardableResult
    func send(_ method: HTTPMethod, _ path: String, _ body: String? = nil) async throws -> AdminCaller.Answer {
        var fields: HTTPHeaders = [:]
        if let cookie { fields.add(name: "cookie", value: cookie) }
        if let key { fields.add(name: "martlet-session", value: key) }
        if let origin, method != .GET, method != .HEAD { fields.add(name: "origin", value: origin) }
        if let site { fields.add(name: "sec-fetch-site", value: site) }
        if let host { fields.add(name: "host", value: host) }
        return try await self.caller.send(method, path, fields: fields, bytes: body.map { Array($0.utf8) })
    }
}
